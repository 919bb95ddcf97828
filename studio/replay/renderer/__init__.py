"""The process that plays an agent and draws it. Knows neither Qt nor torch.

Start with ``process.py``; ``protocol.py`` is what it is told and answers.
"""
