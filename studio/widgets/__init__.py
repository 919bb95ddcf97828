"""Widgets shared by the panels. They know settings, but no run.

Start with ``setting_fields.py``.
"""
