"""The algorithm as a picture that follows the run: six networks, twelve steps.

Start with ``boxes.py`` (the contents of the picture), then ``algorithm_panel.py``.
"""
