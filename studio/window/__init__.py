"""The main window: creates the panels, arranges and connects them.

Start with ``main_window.py``; ``panels.py`` lists the dock panels.
"""
