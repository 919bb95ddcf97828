"""The plots of a run.

``catalogue.py`` lists the plots and what each of them draws, ``layers/`` holds the things drawn,
``card.py`` shows one plot and ``grid.py`` all of them.
"""
