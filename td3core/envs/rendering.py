"""Off-screen rendering: choosing a back-end, and checking what was drawn."""

import os
import sys

import numpy as np
from numpy.typing import NDArray

from td3core.errors import RequestError

DEFAULT_FPS = 30
"""Frames per second of an environment that does not say."""


def prepare_rendering() -> None:
    """Choose off-screen renderers; has to come before the simulators are imported."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    if sys.platform == "linux":
        os.environ.setdefault("MUJOCO_GL", "egl")


def frame_of(rendered: object, env_id: str) -> NDArray[np.uint8]:
    """Return the picture (height, width, 3) that an environment drew.

    Raises:
        RequestError: it drew none.
    """
    if not isinstance(rendered, np.ndarray) or rendered.ndim != 3 or rendered.shape[2] != 3:
        raise cannot_draw(env_id)
    return np.ascontiguousarray(rendered, dtype=np.uint8)


def cannot_draw(env_id: str) -> RequestError:
    """Build the error for an environment without pictures."""
    return RequestError(f"{env_id} cannot draw itself as a picture (render mode rgb_array).")
