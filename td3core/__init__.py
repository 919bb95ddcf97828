"""Twin Delayed DDPG and its training loop, free of any window."""

__version__ = "0.1.0"
