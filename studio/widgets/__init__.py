"""Widgets shared by the panels. They know settings, but no runs.

Start with ``setting_fields.py``.
"""
