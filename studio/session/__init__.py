"""The current run: its thread, its state, its data. No widgets.

Start with ``controller.py`` (thread and state), then ``model.py`` (everything that is shown) and
``record.py`` (its parts). ``history.py`` reads a run from its files.
"""
