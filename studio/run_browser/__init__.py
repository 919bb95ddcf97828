"""The list of all runs and what can be done with them.

Start with ``browser.py``.
"""
