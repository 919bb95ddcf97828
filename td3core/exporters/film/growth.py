"""The growth film: one episode after another, from the first checkpoint of a run to its last."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from td3core.checkpoint import Checkpoint, Header, load, read_header
from td3core.checkpoint.agent import agent_of
from td3core.config import EnvChoice
from td3core.errors import RequestError, brief
from td3core.exporters.film.caption import Canvas, Caption
from td3core.exporters.film.frames import FilmedEpisode, filmed_episode
from td3core.exporters.film.lettering import return_caption
from td3core.exporters.film.progress import FilmProgress, Report, silent
from td3core.exporters.film.writer import FilmInfo, FilmWriter
from td3core.playing.step import BEGINNING, RolloutStep
from td3core.runs.directory import RunDirectory
from td3core.system.regular_files import exists
from td3core.text import Text, tr

HOLD_S = 0.5
"""How long the last frame of a checkpoint stays, to read its return."""
_SLACK = 1e-6
"""Quotients of frame rates are not exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A checkpoint to show."""

    path: Path
    env_steps: int
    numerics: str
    """The numerics class of its run."""
    best: bool = False
    """Whether it is the best one of its run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneResult:
    """Results of a checkpoint in the film."""

    scene: Scene
    returns: tuple[float, ...]
    """Return of each episode, up to its end in the film."""
    lengths: tuple[int, ...]
    """Steps of each episode in the film."""
    complete: bool
    """Whether all episodes were shown to the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Contents of a growth film."""

    info: FilmInfo
    scenes: tuple[SceneResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmSettings:
    """Settings of a growth film."""

    episodes: int = 1
    """Episodes of each checkpoint."""
    seed: int = 0
    most_s: float | None = None
    """Maximum seconds of film for each checkpoint; None for whole episodes."""
    size: tuple[int, int] | None = None
    """Width and height of the film, both even; None for those of the environment's pictures."""
    most_width: int | None = None
    """Scale larger pictures of the environment down to this width; no effect with a ``size``."""
    most_fps: float = math.inf
    """Maximum frames per second."""

    @property
    def hold_s(self) -> float:
        """Seconds for which the last frame of an episode stays; they count towards ``most_s``."""
        return HOLD_S if self.most_s is None else min(HOLD_S, self.most_s / 2)


def scenes_of_run(run: RunDirectory) -> list[Scene]:
    """Return the checkpoints of a run by step, each agent once, with the best one marked.

    Raises:
        RequestError: the run has no checkpoint, or one cannot be read.
    """
    found: dict[int, Scene] = {}
    # Checkpoints named by their step come first: best and last are often copies of them.
    for path in run.saved():
        try:
            header = read_header(path)
        except RequestError:
            if exists(path):
                raise
            continue  # Deleted meanwhile in favour of a newer checkpoint.
        env_steps, numerics = header.counters.env_steps, header.config.numerics
        found.setdefault(env_steps, Scene(path=path, env_steps=env_steps, numerics=numerics))
        if path == run.best:
            found[env_steps] = replace(found[env_steps], best=True)
    if not found:
        run.require_agent()
        raise RequestError("{run} has no checkpoint yet.", run=run.path.name)
    return [found[env_steps] for env_steps in sorted(found)]


def scenes_of_files(paths: Sequence[Path]) -> list[Scene]:
    """Return checkpoints in the order given.

    Raises:
        RequestError: a checkpoint cannot be read, or its environment is not that of the first.
    """
    headers = [read_header(path) for path in paths]
    for path, header in zip(paths, headers, strict=True):
        require_same_environment(header, headers[0], path)
    return [
        Scene(
            path=path,
            env_steps=header.counters.env_steps,
            numerics=header.config.numerics,
            best=path.stem == "best",
        )
        for path, header in zip(paths, headers, strict=True)
    ]


def record_growth(
    scenes: Sequence[Scene],
    target: Path,
    settings: FilmSettings,
    report: Report = silent,
) -> Growth:
    """Record the episodes of every checkpoint, all from the same first states.

    One checkpoint, one environment and one frame are in memory at a time. Checkpoints that have
    been deleted or replaced since they were listed are left out.

    Raises:
        RequestError: a checkpoint cannot be read, the environment cannot render images, or the
            file cannot be written.
        RunError: the environment raised an exception.
    """
    with ExitStack() as film:
        recorder = _Recorder(
            scenes,
            settings,
            report,
            lambda fps: film.enter_context(FilmWriter(target, fps, most_fps=settings.most_fps)),
        )
        results = tuple(recorder.record())
        if recorder.writer is None:
            raise RequestError("The checkpoints are no longer there.")
    return Growth(info=recorder.writer.info(), scenes=results)


class _Recorder:
    """Records one scene after another into one film, which is opened at the first frame."""

    def __init__(
        self,
        scenes: Sequence[Scene],
        settings: FilmSettings,
        report: Report,
        open_writer: Callable[[float], FilmWriter],
    ) -> None:
        """``open_writer`` opens the film, given the environment's frames per second."""
        self._scenes, self._settings = scenes, settings
        self._report = report
        self._open_writer = open_writer
        self._canvas: Canvas | None = None
        self._first: Header | None = None
        self.writer: FilmWriter | None = None

    def record(self) -> Iterator[SceneResult]:
        """Record all scenes."""
        for number, scene in enumerate(self._scenes):
            try:
                agent = load(scene.path)
            except RequestError:
                if exists(scene.path):
                    raise
                continue  # Deleted meanwhile in favour of a newer checkpoint.
            if agent.header.counters.env_steps != scene.env_steps:
                continue  # Replaced meanwhile by one: the run goes on.
            self._first = self._first or agent.header
            require_same_environment(agent.header, self._first, scene.path)
            yield self._record_scene(number, scene, agent)

    def _record_scene(self, number: int, scene: Scene, agent: Checkpoint) -> SceneResult:
        playing, settings = agent_of(agent), self._settings
        last_steps: list[RolloutStep] = []
        room: int | None = None
        hold = 0
        for index in range(settings.episodes):
            with filmed_episode([playing], settings.seed, index) as episode:
                self.writer = self.writer or self._open_writer(episode.fps)
                if room is None:
                    hold = round(settings.hold_s * episode.fps)
                    if settings.most_s is not None:
                        room = max(1, round(settings.most_s * episode.fps) - hold)
                report = partial(self._tell, number, index, agent.header.most_steps, room)
                last = self._record_episode(index, scene, episode, room, hold, report)
            last_steps.append(last)
            room = None if room is None else room - last.number - hold
            if room is not None and room <= 0:
                break
        return SceneResult(
            scene=scene,
            returns=tuple(step.total for step in last_steps),
            lengths=tuple(step.number for step in last_steps),
            complete=len(last_steps) == settings.episodes and last_steps[-1].over,
        )

    def _new_canvas(self, picture: NDArray[np.uint8]) -> Canvas:
        return Canvas(picture, self._settings.size, self._settings.most_width)

    def _record_episode(
        self,
        index: int,
        scene: Scene,
        episode: FilmedEpisode,
        room: int | None,
        hold: int,
        report: Callable[[int], None],
    ) -> RolloutStep:
        """Record an episode, or its first ``room`` steps; return the last step recorded.

        The last picture is repeated for ``hold`` more steps.
        """
        assert self.writer is not None
        # An agent may decide more or less often than that of the first scene.
        pace = self.writer.fps * self.writer.stride / episode.fps
        step, frame = BEGINNING, None
        for ((step, picture),) in episode:
            self._canvas = self._canvas or self._new_canvas(picture)
            frame = self._canvas.compose(picture, _caption(scene, step, index, self._settings))
            for _ in range(_times(step.number, pace)):
                self.writer.write(frame)
            report(step.number)
            if room is not None and step.number >= room:
                break
        if frame is not None:
            for _ in range(round(hold * pace)):
                self.writer.write(frame)
        return step

    def _tell(self, number: int, index: int, most: int | None, room: int | None, step: int) -> None:
        assert self.writer is not None
        self._report(
            FilmProgress(
                scene=number,
                scenes=len(self._scenes),
                episode=index,
                step=step,
                most=min((each for each in (most, room) if each), default=None),
                frames=self.writer.info().frames,
            )
        )


def _times(number: int, pace: float) -> int:
    """Return how often the picture of step ``number`` is written, at ``pace`` pictures per step."""
    # To the nearest, halves would go to even numbers: two steps shown, two left out.
    return math.floor(number * pace + _SLACK) - math.floor((number - 1) * pace + _SLACK)


def _caption(scene: Scene, step: RolloutStep, index: int, settings: FilmSettings) -> Caption:
    left = Text("Step {step:,}", step=scene.env_steps)
    if settings.episodes > 1:
        left = Text("Step {step:,}, episode {episode}", step=scene.env_steps, episode=index + 1)
    return Caption(
        left=str(left), mark=tr("best") if scene.best else "", right=return_caption(step.total)
    )


def require_same_environment(header: Header, first: Header, path: Path) -> None:
    """Refuse an agent whose environment is not that of the first.

    How often an agent repeats its actions may differ.

    Raises:
        RequestError: the environments differ.
    """
    ours, theirs = header.config.choice.simulated, first.config.choice.simulated
    if ours != theirs:
        raise RequestError(
            "{path} is an agent for {env}, not for {first}; a film shows one environment.",
            path=path.name,
            env=_named(ours),
            first=_named(theirs),
        )


def _named(choice: EnvChoice) -> str:
    return brief(f"{choice.env_id} {choice.args}".strip())
