"""Instruments: the numbers of the current episode, synchronous with its pictures.

Start with ``panel.py``; ``episode.py`` holds the numbers.
"""
