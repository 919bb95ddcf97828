"""Films of agents: rendered frames, captions, and the encoder.

Start with ``growth.py``, a film of all checkpoints of a run.
"""
