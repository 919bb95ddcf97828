"""Noise-free episodes and what they come to.

Start with ``evaluate.py``.
"""
