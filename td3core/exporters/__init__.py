"""What other programs read: one module and one function per format.

Start with ``weights.py``, the smallest.
"""
