"""The replay buffer, in memory and on disk, and the batches that updates get from it.

Start with ``replay_buffer.py``, then ``sampler.py``.
"""
