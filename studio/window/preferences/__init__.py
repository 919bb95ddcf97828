"""The user's settings of the window, and notifications."""
