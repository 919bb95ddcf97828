"""Groups: runs that differ in their seeds only.

Start with ``runner.py``, which trains a group; ``group.py`` is the group's file, ``process.py``
trains a group in the background of a window.
"""
