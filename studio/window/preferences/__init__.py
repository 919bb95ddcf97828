"""The user's settings of the window, and the notifications they switch."""
