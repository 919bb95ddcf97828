"""The transport: play, pause, step, scrub, speed and episode."""
