"""The replay buffer, in memory and on disk. No torch.

Start with ``replay_buffer.py``.
"""
