"""The loaded episode, of one agent or of several in step, and its pictures."""

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

LastPictures = dict[int, Picture]
"""The picture drawn last, by agent."""


class RenderedEpisode:
    """A single agent, or several side by side, drawn as one picture."""

    def __init__(
        self,
        playing: SideBySide,
        log: EpisodeLog,
        env_id: str,
        camera: Camera,
        last: LastPictures,
        *,
        draws: bool,
    ) -> None:
        """Show an episode.

        Args:
            playing: The episodes of its agents.
            log: The steps of the first agent.
            env_id: Their environment.
            camera: The camera.
            last: Pictures of earlier episodes, shown where drawing fails; updated.
            draws: False for an environment that cannot render.
        """
        self.log = log
        self._playing, self._env_id, self._camera, self._draws = playing, env_id, camera, draws
        self._last = last
        self._drawn: set[int] = set()
        """The agents whose last picture is that of the current step."""
        self.undrawn = ""
        """Why a step was shown with an earlier picture, if one was."""

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
        """The common step of the agents."""
        return self._playing.step

    @property
    def steps(self) -> tuple[RolloutStep, ...]:
        """The step of each agent, if there are several."""
        steps = self._playing.steps
        return steps if len(steps) > 1 else ()

    def advance(self) -> None:
        """Take one step."""
        for at in self._playing.advance():
            self._drawn.discard(at)

    def picture(self) -> Picture:
        """Draw the current step, the agents side by side, all in the size of the first.

        Where drawing fails, the last picture stays. The picture is one black pixel if nothing can
        be drawn.

        Raises:
            RequestError: the environment cannot be drawn, and there is no earlier picture.
        """
        if not self._draws:
            return np.zeros((1, 1, 3), np.uint8)
        for at, playback in enumerate(self._playing.playbacks):
            if at not in self._drawn:
                self._redraw(at, playback)
        first, *others = (self._last[at] for at in sorted(self._last))
        if not others:
            return first
        return np.concatenate([first, *(_cropped(each, first) for each in others)], axis=1)

    def cameras(self) -> tuple[tuple[str, ...], str]:
        """Return the available cameras, and the one in use; known after the first drawing."""
        return self._camera.names(self._first.env), self._camera.chosen(self._first.env)

    def move_camera(self, wanted: MoveCamera) -> None:
        """Move the camera of all agents."""
        self._camera.move(self._first.env, wanted)

    def redraw(self) -> None:
        """Draw the current step again at the next request: the camera has changed."""
        self._drawn.clear()

    def close(self) -> None:
        """Close the environments."""
        self._playing.close()

    @property
    def _first(self) -> Playback:
        return self._playing.playbacks[0]

    def _redraw(self, at: int, playback: Playback) -> None:
        try:
            self._last[at] = self._draw(playback)
        except RequestError as problem:
            if at not in self._last:
                raise
            self.undrawn = str(problem)
        self._drawn.add(at)

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
        return rgb_frame(rendered, self._env_id, playback.step.number)


def _cropped(picture: Picture, model: Picture) -> Picture:
    """Return a picture cropped to another one's size; few environments draw in several sizes."""
    if picture.shape == model.shape:
        return picture
    found = np.zeros_like(model)
    height, width = min(picture.shape[0], model.shape[0]), min(picture.shape[1], model.shape[1])
    found[:height, :width] = picture[:height, :width]
    return found
