"""The manual in the window.

Start with ``viewer.py``; ``pages.py`` reads the manual.
"""
