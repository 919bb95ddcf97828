"""Groups: runs that differ only in their seeds.

Start with ``runner.py``, which trains a group; ``group.py`` is the group's file, ``process.py``
trains a group in the background of a window.
"""
