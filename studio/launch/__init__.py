"""The ways to start a run other than Train: resume, branch, repeat, verify.

Start with ``launcher.py``.
"""
