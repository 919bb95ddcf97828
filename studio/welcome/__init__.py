"""The start page, shown before the first run, and notes on the first run."""
