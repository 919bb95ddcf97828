"""Shared by the formats of an actor: its weights and facts, and the parity check of a file.

Start with ``deployed.py``.
"""
