"""What a window begins with: its start page, what was opened lately, panels made when they open."""
