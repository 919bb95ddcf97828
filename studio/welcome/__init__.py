"""What the window offers before there is a run."""
