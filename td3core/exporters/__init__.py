"""Formats that other programs read: one module for each, listed in ``registry.py``.

Start with ``weights.py``, the smallest.
"""
