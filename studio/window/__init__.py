"""The main window: puts the panels together and connects them.

Start with ``main_window.py``.
"""
