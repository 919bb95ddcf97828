"""The graphics that a simulator draws with, chosen before it is imported."""
