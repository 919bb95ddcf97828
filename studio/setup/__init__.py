"""Choosing what to train: environment, preset, settings.

Start with ``panel.py``.
"""
