"""Many runs in the window: the training group, the queue, sweeps, lessons.

Start with ``groups_panel.py``; ``group_session.py`` trains a group, ``run_queue.py`` holds waiting
runs.
"""
