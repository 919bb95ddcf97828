"""Many runs at once: the panel of sweeps."""
