"""The commands that watch and steer a run in another process."""
