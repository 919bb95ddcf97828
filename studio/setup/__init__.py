"""Choosing what to train: environment, preset, settings.

Start with ``setup_panel.py``.
"""
