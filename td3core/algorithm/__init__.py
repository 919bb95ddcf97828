"""TD3 on torch: networks, targets, optimisers and the update. Knows no environment and no file.

Start with ``td3.py``: the algorithm in the paper's order on one screen.
"""
