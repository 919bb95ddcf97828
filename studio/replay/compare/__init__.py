"""Several agents side by side: choosing them, and their pictures.

Start with ``comparison.py``.
"""
