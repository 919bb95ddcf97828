"""Instruments: the numbers of the current episode, in sync with its pictures.

Start with ``instruments_panel.py``; :mod:`td3core.playing.numbers` has the numbers.
"""
