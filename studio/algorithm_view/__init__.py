"""The algorithm as a picture that moves with the run: six networks, twelve steps.

Start with ``boxes.py`` (what there is to see), then ``algorithm_panel.py``.
"""
