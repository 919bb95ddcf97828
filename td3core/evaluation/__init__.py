"""Noise-free episodes and their results.

Start with ``evaluate.py``.
"""
