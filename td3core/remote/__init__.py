"""Watching and steering a run of another process, through the run's folder.

The run's side is ``access.py``, which the trainer owns. The other side is ``follow.py``, which
reads what the run reports, and ``steer.py``, which makes requests.
"""
