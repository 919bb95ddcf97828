"""Commands that train many runs."""
