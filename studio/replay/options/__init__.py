"""What the user prefers in the replay, remembered."""
