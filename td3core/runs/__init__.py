"""A run's folder: write, read, list, lock, and find what to resume from.

Start with ``directory.py``.
"""
