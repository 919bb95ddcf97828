"""The pictures of README and manual, taken in the real window."""
