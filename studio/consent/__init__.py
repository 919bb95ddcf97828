"""Asks before running code that a file names, and remembers the answers.

Start with ``code_consent.py``.
"""
