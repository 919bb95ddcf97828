"""Health of a run: quantities, advice, and paired tests of advised changes."""
