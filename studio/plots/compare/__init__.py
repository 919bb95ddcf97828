"""Several runs on the plots: their lines, the controls above, the table below.

``session.py`` owns the current comparison; the other files only show it.
"""
