"""Twin Delayed DDPG and its training loop, without a graphical interface."""

__version__ = "0.1.0"
