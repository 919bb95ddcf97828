"""Watching saved agents: list, player, picture. Rendering happens in ``renderer``'s process.

Start with ``pane.py``, then ``player.py``.
"""
