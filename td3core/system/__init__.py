"""Services of the operating system: durable files, child processes, the time of day.

Start with ``files.py``.
"""
