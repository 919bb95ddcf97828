"""The list of all runs, and the actions on them.

Start with ``browser.py``.
"""
