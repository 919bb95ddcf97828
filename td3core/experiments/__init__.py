"""Many runs, each in a process of its own.

``sweeps`` searches for good settings.
"""
