"""Colours and icons.

Start with ``theme.py``.
"""
