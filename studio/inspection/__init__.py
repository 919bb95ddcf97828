"""Inspection of a saved agent: a batch of its replay buffer, and its critic over the actions.

Start with ``dialog.py``.
"""
