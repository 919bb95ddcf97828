"""The plots of a run.

Start with ``catalogue.py`` (what is plotted), then ``grid.py`` and ``card.py``.
"""
