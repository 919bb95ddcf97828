"""Guided experiments, read and begun in a dialog."""
