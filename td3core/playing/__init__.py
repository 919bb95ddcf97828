"""Playing an episode: the same for the same seed in evaluations, in the replay and in films.

Start with ``playback.py``.
"""
