"""Saved networks in NumPy: acting without torch.

Start with ``policy.py``.
"""
