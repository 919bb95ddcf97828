"""Shared by the formats of an actor: its numbers, and the proof that a file acts alike.

Start with ``deployed.py``.
"""
