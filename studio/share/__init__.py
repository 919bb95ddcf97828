"""Getting agents out of the window: films, pictures, evaluations and exports.

Start with ``menu.py``. Everything that takes time runs in a process of its own.
"""
