"""Instruments: the numbers of the episode on show, synchronous with its pictures.

Start with ``panel.py``; ``episode.py`` holds the numbers.
"""
