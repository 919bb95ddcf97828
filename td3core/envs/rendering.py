"""Off-screen rendering: choosing a back-end, and checking what was rendered."""

import os
import sys

import numpy as np
from numpy.typing import NDArray

from td3core.errors import RequestError

DEFAULT_FPS = 30
"""Frames per second of an environment that does not define them."""


def prepare_rendering() -> None:
    """Choose off-screen renderers; must be called before simulators are imported."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    if sys.platform == "linux":
        os.environ.setdefault("MUJOCO_GL", "egl")


def rgb_frame(rendered: object, env_id: str) -> NDArray[np.uint8]:
    """Return what an environment rendered as an RGB image (height, width, 3), 0 to 255.

    Raises:
        RequestError: it is not an image.
    """
    if not isinstance(rendered, np.ndarray) or rendered.ndim != 3 or rendered.shape[2] != 3:
        raise rendering_error(env_id)
    return np.ascontiguousarray(rendered, dtype=np.uint8)


def rendering_error(env_id: str) -> RequestError:
    """Return the error for an environment that renders no images."""
    return RequestError("{env_id} cannot render images (render mode rgb_array).", env_id=env_id)
