"""Work outside the GUI thread: in another thread, or in a process.

``background_task.py`` reads, and drops unwanted work; ``background_queue.py`` writes in sequence,
and drops nothing.
"""
