"""Adam's constants that are not settings (Kingma and Ba, 2015), and its last step."""

import numpy as np

from td3core.arrays import Floats

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Those of the paper."""


def last_step(moment: Floats, square: Floats, lr: float, t: float) -> Floats:
    """Return what step ``t``, of learning rate ``lr``, subtracted, from the moments after it."""
    size, root = lr / (1.0 - BETA1**t), (1.0 - BETA2**t) ** 0.5
    spread: Floats = np.sqrt(square)
    step: Floats = np.float32(size) * moment / (spread / np.float32(root) + EPSILON)
    return step
