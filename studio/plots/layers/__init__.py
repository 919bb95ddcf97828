"""The layers drawn on a plot, one kind per file.

To add a layer, subclass :class:`studio.plots.layers.layer.Layer` in a new file and add it to
``../catalogue.py``: to ``layers_of`` for every plot, to a ``PlotSpec`` for one plot.
"""
