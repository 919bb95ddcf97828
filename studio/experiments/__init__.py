"""Many runs in the window: the group that trains, and the runs that wait.

Start with ``panel.py``; ``group_session.py`` trains a group, ``run_queue.py`` holds what waits.
"""
