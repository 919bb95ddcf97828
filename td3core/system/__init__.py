"""Operating system services: durable files, child processes, timestamps.

Start with ``files.py``.
"""
