"""Playing an episode: identical for the same seed in evaluations, in the replay and in films.

Start with ``playback.py``.
"""
