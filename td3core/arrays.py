"""Names for the arrays that pass between the rooms."""

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
