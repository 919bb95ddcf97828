"""Many runs, each in a process of its own.

Start with ``run_process.py``, which trains one run; ``groups`` trains one agent for each of several
seeds, ``sweeps`` searches for good settings.
"""
