"""The command ``report``.

Start with ``command.py``.
"""
