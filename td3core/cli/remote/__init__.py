"""The commands that watch and steer a run of another process."""
