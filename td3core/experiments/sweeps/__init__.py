"""Sweeps: many trials that search for good settings.

Start with ``spec.py``, the contents of a sweep's file, and ``runner.py``, which runs it.
"""
