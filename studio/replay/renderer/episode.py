"""The episode that is loaded, of one agent or of several in step, and its pictures."""

import numpy as np

from studio.replay.renderer.camera import Camera
from studio.replay.renderer.protocol import MoveCamera
from studio.replay.renderer.scaling import Picture
from td3core.envs.rendering import rgb_frame
from td3core.errors import RequestError
from td3core.playing.numbers import EpisodeLog
from td3core.playing.playback import Playback
from td3core.playing.side_by_side import SideBySide
from td3core.playing.step import RolloutStep


class RenderedEpisode:
    """Agents that play side by side, or one alone, and are drawn as one."""

    def __init__(
        self, playing: SideBySide, log: EpisodeLog, env_id: str, camera: Camera, *, draws: bool
    ) -> None:
        """Show an episode.

        Args:
            playing: The agents in it.
            log: The steps of the first.
            env_id: Their environment.
            camera: From where it is drawn.
            draws: False for an environment that cannot render.
        """
        self.log = log
        self._playing, self._env_id, self._camera, self._draws = playing, env_id, camera, draws
        self._pictures: dict[int, Picture] = {}
        """Of the current step, by agent."""

    @property
    def index(self) -> int:
        """Number of the episode, from 0."""
        return self._first.index

    @property
    def fps(self) -> float:
        """Steps per second at the environment's own speed."""
        return self._playing.fps

    @property
    def step(self) -> RolloutStep:
        """Where the agents are together."""
        return self._playing.step

    @property
    def steps(self) -> tuple[RolloutStep, ...]:
        """Where each of the agents is, if there are several."""
        steps = self._playing.steps
        return steps if len(steps) > 1 else ()

    def advance(self) -> None:
        """Take one step."""
        for at in self._playing.advance():
            self._pictures.pop(at, None)

    def picture(self) -> Picture:
        """Draw the current step, the agents next to each other, all in the size of the first.

        It has one black pixel if nothing can be drawn.

        Raises:
            RequestError: the environment cannot draw itself.
        """
        if not self._draws:
            return np.zeros((1, 1, 3), np.uint8)
        for at, playback in enumerate(self._playing.playbacks):
            if at not in self._pictures:
                self._pictures[at] = self._draw(playback)
        first, *others = (self._pictures[at] for at in sorted(self._pictures))
        if not others:
            return first
        return np.concatenate([first, *(_cropped(each, first) for each in others)], axis=1)

    def cameras(self) -> tuple[tuple[str, ...], str]:
        """Return the cameras to choose from, and the one in use; known once it has been drawn."""
        return self._camera.names(self._first.env), self._camera.chosen(self._first.env)

    def move_camera(self, wanted: MoveCamera) -> None:
        """Move the camera of all."""
        self._camera.move(self._first.env, wanted)

    def redraw(self) -> None:
        """Draw the current step again when it is asked for: the camera is another."""
        self._pictures.clear()

    def close(self) -> None:
        """Close the environments."""
        self._playing.close()

    @property
    def _first(self) -> Playback:
        return self._playing.playbacks[0]

    def _draw(self, playback: Playback) -> Picture:
        try:
            rendered = self._camera.draw(playback.env)
        except Exception as problem:
            # A missing driver or library may raise anything.
            lines = str(problem).strip().splitlines() or [type(problem).__name__]
            raise RequestError(
                "{env_id} cannot draw itself here: {reason}.",
                env_id=self._env_id,
                reason=lines[0].rstrip("."),
            ) from problem
        return rgb_frame(rendered, self._env_id)


def _cropped(picture: Picture, model: Picture) -> Picture:
    """Return a picture in the size of another one; few environments draw in several sizes."""
    if picture.shape == model.shape:
        return picture
    found = np.zeros_like(model)
    height, width = min(picture.shape[0], model.shape[0]), min(picture.shape[1], model.shape[1])
    found[:height, :width] = picture[:height, :width]
    return found
