"""What other programs show while a run goes on: listeners to its events."""
