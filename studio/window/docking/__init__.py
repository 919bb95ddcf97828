"""Placement of panels in a window that is short of space."""
