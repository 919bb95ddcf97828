"""The process that plays an agent and draws it. Imports neither Qt nor torch.

Start with ``process.py``; ``protocol.py`` defines its messages.
"""
