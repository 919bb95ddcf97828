"""Array types shared by all packages, and a fast check for finite numbers."""

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
    # One byte per number, 0 if it is not finite. For a few numbers this is faster than ``.all()``.
    return 0 not in np.isfinite(numbers).tobytes()
