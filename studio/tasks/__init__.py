"""Work outside the GUI thread: in a thread, or in a process of its own.

Start with ``background_task.py``.
"""
