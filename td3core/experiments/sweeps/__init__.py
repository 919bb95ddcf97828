"""Sweeps: many trials that search for good settings.

Start with ``spec.py``, which is what a sweep's file describes, and ``runner.py``, which runs it.
"""
