"""The window's offers before there is a run."""
