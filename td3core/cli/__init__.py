"""The headless commands: each checks its arguments, calls one function and prints the result.

Start with ``app.py``.
"""
