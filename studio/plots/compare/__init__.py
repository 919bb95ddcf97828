"""Several runs on the plots: what is shown of them, the controls above, the table below.

``session.py`` owns the current comparison; the other files only show it.
"""
