"""Work outside the GUI thread: in a thread, or in a process of its own.

Start with ``background_task.py``; ``background_reader.py`` reads one thing, and
``background_queue.py`` writes one thing after another.
"""
