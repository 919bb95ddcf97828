"""Live output for other programs: listeners to a run's events."""
