"""TD3 in plain torch, and compiled: networks, targets, optimisers, the update. Opens no run files.

Start with ``td3.py``: the algorithm in the paper's order on one screen.
"""
