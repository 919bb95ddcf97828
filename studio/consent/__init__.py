"""Asks before code that a file names is run, and remembers the answers.

Start with ``code_consent.py``.
"""
