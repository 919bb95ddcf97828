"""Watching and steering a run of another process, through the run's folder.

The run's side is ``access.py``, a listener. The other side is :mod:`td3core.runs.reader`, which
reads the run's reports, and ``steer.py``, which makes requests.
"""
