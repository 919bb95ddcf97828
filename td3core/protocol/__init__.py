"""Events that a run reports and requests it takes; shared by window, terminal and tests.

Start with ``events.py`` (run to listener), then ``control.py`` (listener to run). ``wording.py``
puts events into words.
"""
