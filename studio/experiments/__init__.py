"""Many runs in the window: the group that trains, the runs that wait, sweeps.

Start with ``panel.py``; ``group_session.py`` trains a group, ``run_queue.py`` holds what waits.
"""
