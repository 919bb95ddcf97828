"""One run from its first step to its last.

Start with ``launch.py`` (train, resume, branch), then ``trainer.py`` (the loop).
"""
