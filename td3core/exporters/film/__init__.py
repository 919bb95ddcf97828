"""Films of agents: frames as they are rendered, captions, and the encoder.

Start with ``growth.py``, a film of all checkpoints of a run.
"""
