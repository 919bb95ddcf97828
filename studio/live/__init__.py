"""The settings that can be changed while a run learns, one row each.

Start with ``live_panel.py``.
"""
