"""Presets, icons, colours and bundled agents, read through importlib.resources."""
