"""Cameras of MuJoCo environments: tracking, free, or defined by the model."""

from math import cos, radians, sin
from typing import Any, NamedTuple

import numpy as np

from studio.replay.renderer.protocol import FREE, TRACKING, MoveCamera
from td3core.envs.agent_view import AgentView

_KIND_FREE, _KIND_TRACKING = 0, 1
"""MuJoCo's numbers (mjtCamera)."""
_HIGHEST = 89.0
_FIELD = 0.83
"""Visible height at the target, per unit of distance: 2 tan(45° / 2)."""
_PLANAR = 2
"""A root body with this many degrees of freedom may leave the picture; a cart on a rail has one."""


class _Pose(NamedTuple):
    azimuth: float
    elevation: float
    distance: float
    lookat: tuple[float, float, float]


class Camera:
    """The user's camera, kept from one environment to the next.

    Other simulators choose their own view.
    """

    def __init__(self) -> None:
        self._chosen = ""
        self._pose: _Pose | None = None
        """Pose set by the user; None for the environment's own."""
        self._undone = False
        """Whether the environment's own pose must be restored at the next drawing."""

    def reset(self, chosen: str | None = None) -> None:
        """Choose a camera, or None for the one in use; reset its pose."""
        self._chosen = self._chosen if chosen is None else chosen
        self._pose = None
        # The free camera starts from the current pose.
        self._undone = chosen != FREE

    def names(self, env: AgentView) -> tuple[str, ...]:
        """Return the cameras of an environment after it was drawn; empty if there is no choice."""
        viewer, model = _parts(env)
        if viewer is None:
            return ()
        named = [model.camera(number).name for number in range(model.ncam)]
        return TRACKING, FREE, *(name for name in named if name)

    def chosen(self, env: AgentView) -> str:
        """Return the camera in use."""
        _, model = _parts(env)
        if model is None:
            return ""
        if self._chosen in self.names(env):
            return self._chosen
        return TRACKING if _may_leave(model) else FREE

    def move(self, env: AgentView, wanted: MoveCamera) -> None:
        """Turn, shift or zoom the camera, much as MuJoCo's own viewer does."""
        viewer, _ = _parts(env)
        if viewer is not None:
            # The viewer updates its pose only when it draws.
            shown = viewer.own_pose if self._undone else _pose_of(viewer.cam)
            self._pose = _moved(self._pose or shown, wanted)

    def draw(self, env: AgentView) -> Any:
        """Return the environment's picture."""
        renderer = getattr(env.unwrapped, "mujoco_renderer", None)
        if renderer is None:
            return env.render()
        if renderer.viewer is None:
            first = env.render()
            viewer, _ = _parts(env)
            if viewer is None:
                return first
            viewer.own_pose = _pose_of(viewer.cam)
        viewer, model = _parts(env)
        # With several environments in one process, the newest context would be current otherwise.
        viewer.make_context_current()
        self._apply(renderer, viewer, model, self.chosen(env))
        return env.render()

    def _apply(self, renderer: Any, viewer: Any, model: Any, chosen: str) -> None:
        if chosen not in (TRACKING, FREE):
            renderer.camera_id = model.camera(chosen).id
            return
        # Otherwise the renderer would set the kind of camera itself.
        renderer.camera_id, self._undone = None, False
        if self._chosen == FREE and self._pose is None and _may_leave(model):
            # By default it would look at the start, which the agent may have left long ago.
            x, y, z = (float(each) for each in renderer.data.subtree_com[1])
            self._pose = viewer.own_pose._replace(lookat=(x, y, z))
        cam, pose = viewer.cam, self._pose or viewer.own_pose
        cam.fixedcamid = -1
        cam.type = _KIND_TRACKING if chosen == TRACKING else _KIND_FREE
        cam.trackbodyid = 1
        cam.azimuth, cam.elevation, cam.distance = pose.azimuth, pose.elevation, pose.distance
        if chosen == FREE:
            cam.lookat[:] = pose.lookat


def _parts(env: AgentView) -> tuple[Any, Any]:
    """Return viewer and model of a MuJoCo environment; None for others."""
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    viewer, model = getattr(renderer, "viewer", None), getattr(renderer, "model", None)
    usable = hasattr(viewer, "cam") and hasattr(viewer, "make_context_current")
    return (viewer if usable else None), (model if usable else None)


def _pose_of(cam: Any) -> _Pose:
    x, y, z = (float(each) for each in cam.lookat)
    return _Pose(float(cam.azimuth), float(cam.elevation), float(cam.distance), (x, y, z))


def _moved(pose: _Pose, wanted: MoveCamera) -> _Pose:
    match wanted.action:
        case "turn":
            elevation = min(max(pose.elevation - 180 * wanted.y, -_HIGHEST), _HIGHEST)
            return pose._replace(azimuth=pose.azimuth - 180 * wanted.x, elevation=elevation)
        case "zoom":
            return pose._replace(distance=pose.distance * max(0.2, 1 + wanted.y))
    azimuth, elevation = radians(pose.azimuth), radians(pose.elevation)
    right = np.array([sin(azimuth), -cos(azimuth), 0.0])
    towards = np.array(
        [cos(azimuth) * cos(elevation), sin(azimuth) * cos(elevation), sin(elevation)]
    )
    shift = _FIELD * pose.distance * (wanted.y * np.cross(right, towards) - wanted.x * right)
    x, y, z = (np.array(pose.lookat) + shift).tolist()
    return pose._replace(lookat=(x, y, z))


def _may_leave(model: Any) -> bool:
    """Return whether the first body moves freely or in a plane."""
    return bool(model.nbody > 1 and model.body_dofnum[1] >= _PLANAR)
