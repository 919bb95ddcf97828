"""Names for the arrays that pass between the rooms, and what is asked of them at every step."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
"""float32: what networks, replay buffer and environments exchange."""

Doubles = NDArray[np.float64]
"""float64: tables and statistics."""

Arrays = Mapping[str, NDArray[Any]]
"""Arrays by name, such as the tensors of a checkpoint."""


def all_finite(numbers: Floats) -> bool:
    """Return whether all of a few ``numbers`` are finite."""
    flat = numbers.ravel()
    # A NaN or an infinity spoils the sum of squares, and one product takes a third of the time.
    # Squares of large numbers overflow as well: only then is each one looked at.
    return math.isfinite(flat.dot(flat)) or bool(np.logical_and.reduce(np.isfinite(flat)))
