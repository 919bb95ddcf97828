"""Commands that train many runs.

Start with ``groups.py``: ``train --seeds``, and ``resume`` of a group. ``sweep.py`` runs sweeps.
"""
