"""Health of a run: quantities, advice, and trials of advised changes."""
