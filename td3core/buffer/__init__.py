"""The replay buffer, in buffer and on disk. No torch.

Start with ``replay_buffer.py``.
"""
