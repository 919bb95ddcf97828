"""Several runs on the plots: what is shown of them, the controls above, the table below.

``session.py`` owns the comparison on show; the other files only show it.
"""
