"""The run on show: its thread, its state, its data. No widgets.

Start with ``controller.py`` (thread and state), then ``model.py`` (everything that is shown).
"""
