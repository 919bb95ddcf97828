"""Start of a window: its start page, recent files, and panels made on first opening."""
