"""What a window begins with: its start page, and the runs and agents opened lately."""
