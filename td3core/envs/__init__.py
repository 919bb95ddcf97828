"""Environments for TD3: finding, making, checking, and stepping many at once.

Start with ``make.py``, then ``vector.py`` for how a run steps its environments.
"""
