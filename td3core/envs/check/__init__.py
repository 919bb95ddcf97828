"""Checking an environment before an agent is trained on it.

Start with ``examine.py``.
"""
