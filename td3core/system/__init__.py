"""What the operating system gives: durable files, child processes, the time of day.

Start with ``files.py``.
"""
