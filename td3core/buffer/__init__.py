"""The replay buffer, in memory and on disk, and the batches drawn from it for updates.

Start with ``replay_buffer.py``, then ``sampler.py``.
"""
