"""The plots of a run.

``catalogue.py`` lists the plots and their layers, ``layers/`` holds the layers, ``card.py`` shows
one plot and ``grid.py`` all of them.
"""
