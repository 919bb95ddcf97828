"""Many runs in the window: the group that trains, the runs that wait, sweeps, lessons.

Start with ``groups_panel.py``; ``group_session.py`` trains a group, ``run_queue.py`` holds what
waits.
"""
