"""Work outside the GUI thread: in a thread, or in a process of its own.

``background_task.py`` reads, and drops what is no longer wanted; ``background_queue.py`` writes one
thing after another, and drops nothing.
"""
