"""Formats that other programs read: one module per format, listed in ``registry.py``.

Start with ``weights.py``, the smallest.
"""
