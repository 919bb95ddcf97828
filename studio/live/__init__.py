"""The settings that can be changed while a run learns, one slider each.

Start with ``panel.py``.
"""
