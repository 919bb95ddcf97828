"""Output from the window: films, pictures, evaluations and exports of agents.

Start with ``menu.py``. Everything that takes time runs in a process of its own.
"""
