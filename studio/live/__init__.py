"""The settings that can be changed while a run learns, one row per setting.

Start with ``live_panel.py``.
"""
