"""The command ``film``, and its progress.

Start with ``command.py``.
"""
