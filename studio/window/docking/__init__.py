"""Where panels go in a window that is short of room."""
