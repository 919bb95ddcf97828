"""The headless commands. Each checks what was asked, calls one function and prints what came of it.

Start with ``app.py``.
"""
