"""The command ``film``, and the progress that it shows.

Start with ``command.py``.
"""
