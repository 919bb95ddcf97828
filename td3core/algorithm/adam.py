"""Adam's constants that are not settings: those of the paper (Kingma and Ba, 2015)."""

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
