"""The plots of one run: a large one, the others small below it, and key numbers."""
