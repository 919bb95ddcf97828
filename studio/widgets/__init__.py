"""Widgets that know settings, but no run.

Start with ``setting_fields.py``.
"""
