"""A saved agent's values of its replay buffer: a batch, and the critic over the actions.

Start with ``dialog.py``.
"""
