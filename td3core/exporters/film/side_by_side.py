"""The film of a comparison: several agents play the same episodes in step, side by side."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.checkpoint import Checkpoint, load
from td3core.config.consent import NO_CONSENT, Consent
from td3core.evaluation.disturbance import Pushes, Variant, acting, noise_of
from td3core.evaluation.entrants import Entrant, Lane, names_of
from td3core.evaluation.rollout import RolloutStep
from td3core.exporters.film.caption import Canvas, Caption
from td3core.exporters.film.frames import EpisodeFrames, Shot, episode_frames
from td3core.exporters.film.growth import (
    HOLD_S,
    require_same_environment,
)
from td3core.exporters.film.progress import FilmProgress, Report, silent
from td3core.exporters.film.writer import FilmInfo, FilmWriter
from td3core.randomness import Purpose, episode_seed
from td3core.runs.naming import runs_of_agents

_BACK = (24, 27, 33)
_GAP = 4
"""Between two pictures, in pixels."""
_MOST_IN_A_ROW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSettings:
    """How the film of a comparison is made."""

    episodes: int = 1
    seed: int = 0
    speed: float = 1.0
    """How many times as fast it plays."""
    columns: int = 0
    """Pictures in a row; 0: as many as fit well."""
    pushes: Sequence[int] = ()
    """Steps, from 1, at which a push begins, besides the usual one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneResult:
    """What an agent did in the film."""

    lane: Lane
    name: str
    returns: tuple[float, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFilm:
    """What a film shows."""

    info: FilmInfo
    lanes: tuple[LaneResult, ...]


def record_side_by_side(
    entrants: Sequence[Entrant],
    target: Path,
    settings: ComparisonSettings,
    consent: Consent = NO_CONSENT,
    report: Report = silent,
) -> ComparisonFilm:
    """Record agents that begin with the same state and play in step.

    Those whose episode is over wait for the others. One picture of each is held at a time.

    Raises:
        RequestError: a checkpoint cannot be read or is of another environment than the first, the
            environment cannot render images, or the file cannot be written.
        RunError: the environment raised an ``OSError``.
    """
    agents = [load(entrant.path) for entrant in entrants]
    for agent, entrant in zip(agents, entrants, strict=True):
        require_same_environment(agent.header, agents[0].header, entrant.path)
    runs = runs_of_agents([entrant.path for entrant in entrants])
    lanes = [_lane(*each) for each in zip(entrants, agents, runs, strict=True)]
    ends: list[list[RolloutStep]] = []
    with ExitStack() as film:
        recorder = _Recorder(lanes, agents, settings, consent, report)
        recorder.open_writer = lambda fps: film.enter_context(
            FilmWriter(target, fps, settings.speed)
        )
        ends = [recorder.record(index) for index in range(settings.episodes)]
    assert recorder.writer is not None
    results = (
        LaneResult(
            lane=lane,
            name=name,
            returns=tuple(steps[at].total for steps in ends),
            lengths=tuple(steps[at].step for steps in ends),
        )
        for at, (lane, name) in enumerate(zip(lanes, recorder.names, strict=True))
    )
    return ComparisonFilm(info=recorder.writer.info(), lanes=tuple(results))


class _Recorder:
    """Records one episode after another into one film, which is opened with the first frame."""

    open_writer: Callable[[float], FilmWriter]
    """Opens the film for so many steps per second."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        agents: Sequence[Checkpoint],
        settings: ComparisonSettings,
        consent: Consent,
        report: Report,
    ) -> None:
        self._lanes, self._agents, self._settings = lanes, agents, settings
        self._choice = agents[0].header.config.choice.with_consent(consent)
        self._report = report
        self.names = names_of(lanes)
        self._canvases: list[Canvas] = []
        self.writer: FilmWriter | None = None

    def record(self, index: int) -> list[RolloutStep]:
        """Record an episode; return the last step of each agent."""
        seed = episode_seed(self._settings.seed, Purpose.EVALUATION, index)
        frame, shots = None, list[Shot]()
        with ExitStack() as made:
            episodes = [
                made.enter_context(episode_frames(self._choice, agent.policy(), seed))
                for agent in self._agents
            ]
            for lane, agent, episode in zip(self._lanes, self._agents, episodes, strict=True):
                episode.policy = self._acting(lane, agent, episode, seed)
            self.writer = writer = self.writer or self.open_writer(episodes[0].fps)
            for shots in in_step(episodes):
                frame = self._compose(shots)
                writer.write(frame)
                self._report(self._progress(index, max(shot.step.step for shot in shots)))
        if frame is not None:
            for _ in range(round(HOLD_S * writer.fps * writer.stride)):
                writer.write(frame)
        return [shot.step for shot in shots]

    def _acting(
        self, lane: Lane, agent: Checkpoint, episode: EpisodeFrames, seed: int
    ) -> Callable[[Floats], Floats]:
        pushes = Pushes(episode.fps)
        for step in self._settings.pushes:
            pushes.add(step)
        return acting(
            episode.policy,
            agent.header.tunables,
            lane.entrant.variant,
            seed,
            sigma=lane.noise,
            pushes=pushes,
        )

    def _progress(self, index: int, step: int) -> FilmProgress:
        assert self.writer is not None
        frames = self.writer.info().frames
        return FilmProgress(episode=index, step=step, frames=frames)

    def _compose(self, shots: Sequence[Shot]) -> NDArray[np.uint8]:
        """Return a frame with all pictures in rows, each with its caption."""
        if not self._canvases:
            self._canvases = [Canvas(shots[0].picture) for _ in shots]
        tiles = [
            canvas.compose(shot.picture, _caption(name, shot.step))
            for canvas, name, shot in zip(self._canvases, self.names, shots, strict=True)
        ]
        count = len(tiles)
        columns = self._settings.columns or (count if count <= _MOST_IN_A_ROW else -(-count // 2))
        return _in_rows(tiles, min(columns, count))


def in_step(episodes: Sequence[EpisodeFrames]) -> Iterator[list[Shot]]:
    """Yield the shots of all episodes step by step; those that are over stay as they are."""
    running = [iter(episode) for episode in episodes]
    shots = [next(each) for each in running]
    yield list(shots)
    while not all(shot.step.over for shot in shots):
        for at, each in enumerate(running):
            if not shots[at].step.over:
                shots[at] = next(each)
        yield list(shots)


def _lane(entrant: Entrant, agent: Checkpoint, run: str) -> Lane:
    header = agent.header
    noisy = entrant.variant is Variant.NOISE
    left = header.counters.exploration_noise
    return Lane(
        entrant=entrant,
        env_steps=header.counters.env_steps,
        mean_return=header.evaluation.mean if header.evaluation else None,
        noise=noise_of(header.tunables, left) if noisy else 0.0,
        run=run,
    )


def _caption(name: str, step: RolloutStep) -> Caption:
    ending = ("ended" if step.terminated else "time limit") if step.over else ""
    # Pillow's own font has no Greek.
    return Caption(left=name.replace(" σ ", " "), mark=ending, right=f"Return {step.total:,.1f}")


def _in_rows(tiles: Sequence[NDArray[np.uint8]], columns: int) -> NDArray[np.uint8]:
    """Return one picture with tiles of one size (height, width, 3) in rows."""
    height, width = tiles[0].shape[:2]
    rows = -(-len(tiles) // columns)
    size = rows * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP
    frame = np.full((*size, 3), _BACK, np.uint8)
    for at, tile in enumerate(tiles):
        row, column = divmod(at, columns)
        top, left = row * (height + _GAP), column * (width + _GAP)
        frame[top : top + height, left : left + width] = tile
    return frame
