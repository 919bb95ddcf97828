"""What the formats of an actor share: its numbers, and the proof that a file acts alike.

Start with ``deployed.py``.
"""
