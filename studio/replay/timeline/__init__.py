"""The timeline: all checkpoints of a run on a strip, by step and evaluation return."""
