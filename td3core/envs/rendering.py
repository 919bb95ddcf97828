"""Off-screen rendering: choosing a back-end, and checking rendered images."""

import os
import sys
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from td3core.envs.catalogue import find_known, is_importable
from td3core.envs.graphics.opengl import opengl
from td3core.errors import RequestError
from td3core.system.heap import keep_freed_memory

MUJOCO = "mujoco"
DEFAULT_FPS = 30
"""Frames per second of an environment that does not define them."""
_WALKER = "gymnasium.envs.box2d.bipedal_walker"


def prepare_rendering(env_id: str | None = None) -> None:
    """Choose off-screen renderers; must be called before simulators are imported.

    Args:
        env_id: The environment to draw; None if it is not known yet, and no simulator is imported
            before it is.
    """
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    keep_freed_memory()
    if env_id is not None and _may_use_mujoco(env_id):
        opengl().prepare()


def require_rendering(env_id: str) -> None:
    """Refuse an environment that this system's graphics cannot draw.

    Raises:
        RequestError: MuJoCo has no OpenGL; the message names the package to install.
    """
    known = find_known(env_id)
    problem = opengl().problem() if known is not None and MUJOCO in known.needs else None
    if problem is not None:
        raise RequestError(
            "{env_id} cannot be drawn here: {problem}.", env_id=env_id, problem=problem
        )


def _may_use_mujoco(env_id: str) -> bool:
    known = find_known(env_id)
    # What a user's environment imports is known only once it is too late.
    return MUJOCO in known.needs if known is not None else is_importable(MUJOCO)


def draw_faster(env: gym.Env[Any, Any]) -> None:
    """Let an environment with slow rendering draw the same pictures faster."""
    module, drawn = sys.modules.get(_WALKER), env.unwrapped
    # A subclass may draw something else.
    if module is not None and type(drawn).render is module.BipedalWalker.render:
        from td3core.envs.graphics.bipedal_walker import WalkerPainter

        vars(drawn)["render"] = WalkerPainter(drawn)


def draw(env: gym.Env[Any, Any]) -> Any:
    """Return an environment's image, correct also while other MuJoCo environments are drawn."""
    viewer: Any = getattr(getattr(env.unwrapped, "mujoco_renderer", None), "viewer", None)
    if hasattr(viewer, "make_context_current"):
        # Otherwise the context created last is current.
        viewer.make_context_current()
    return env.render()


def rgb_frame(rendered: object, env_id: str, step: int) -> NDArray[np.uint8]:
    """Return the rendered image as RGB (height, width, 3), 0 to 255.

    Raises:
        RequestError: it is not an image; the message names the ``step`` and what was returned.
    """
    if not isinstance(rendered, np.ndarray) or rendered.ndim != 3 or rendered.shape[2] != 3:
        raise _picture_error(rendered, env_id, step)
    # Other numbers have no common scale: floats may mean 0 to 1.
    whole = rendered.dtype.kind in "iu" and rendered.size > 0
    if not whole or rendered.min() < 0 or rendered.max() > 255:
        raise _picture_error(rendered, env_id, step)
    return np.ascontiguousarray(rendered, dtype=np.uint8)


def _picture_error(rendered: object, env_id: str, step: int) -> RequestError:
    found = type(rendered).__name__
    if isinstance(rendered, np.ndarray):
        found = f"{rendered.dtype} {rendered.shape}"
    return RequestError(
        "{env_id} returned no picture at step {step}: expected uint8 (height, width, 3), got"
        " {found}.",
        env_id=env_id,
        step=step,
        found=found,
    )


def rendering_error(env_id: str) -> RequestError:
    """Return the error for an environment without the render mode for images."""
    return RequestError("{env_id} cannot render images (render mode rgb_array).", env_id=env_id)
