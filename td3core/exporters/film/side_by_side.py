"""The film of a comparison: several agents play the same episodes in lockstep, side by side."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from td3core.checkpoint import load
from td3core.checkpoint.agent import agent_of, facts_of
from td3core.exporters.film.caption import BACK, Canvas, Caption
from td3core.exporters.film.frames import Shot, filmed_episode
from td3core.exporters.film.growth import HOLD_S, require_same_environment
from td3core.exporters.film.lettering import return_caption
from td3core.exporters.film.progress import FilmProgress, Report, silent
from td3core.exporters.film.writer import FilmInfo, FilmWriter
from td3core.playing.compared import AgentFacts, ComparedAgent, names_of
from td3core.playing.disturbance import Pushes
from td3core.playing.playback import Agent
from td3core.playing.step import RolloutStep
from td3core.runs.naming import runs_of_agents

_GAP = 4
"""Gap between two pictures, in pixels."""
_MOST_IN_A_ROW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSettings:
    """Settings of the film of a comparison."""

    episodes: int = 1
    seed: int = 0
    speed: float = 1.0
    """Playback speed as a multiple of the environment's own."""
    columns: int = 0
    """Pictures per row; 0 for as many as fit well."""
    pushes: Sequence[int] = ()
    """Steps, from 1, at which additional pushes begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """Results of an agent in the film."""

    facts: AgentFacts
    name: str
    returns: tuple[float, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFilm:
    """Contents of a film."""

    info: FilmInfo
    agents: tuple[AgentResult, ...]


def record_side_by_side(
    compared: Sequence[ComparedAgent],
    target: Path,
    settings: ComparisonSettings,
    report: Report = silent,
) -> ComparisonFilm:
    """Record agents that start in the same state and play in lockstep.

    Agents whose episode is over wait for the others. One picture per agent is in memory at a time.

    Raises:
        RequestError: a checkpoint cannot be read or its environment is not that of the first, the
            environment cannot render images, or the file cannot be written.
        RunError: the environment raised an exception.
    """
    sources = [load(each.path) for each in compared]
    for source, each in zip(sources, compared, strict=True):
        require_same_environment(source.header, sources[0].header, each.path)
    agents = [
        agent_of(source, each.variant) for source, each in zip(sources, compared, strict=True)
    ]
    runs = runs_of_agents([each.path for each in compared])
    headers = [source.header for source in sources]
    facts = list(map(facts_of, compared, headers, runs))
    names = names_of(facts)
    ends: list[list[RolloutStep]] = []
    with ExitStack() as film:
        recorder = _Recorder(
            agents,
            names,
            settings,
            headers[0].most_steps,
            report,
            lambda fps: film.enter_context(FilmWriter(target, fps, settings.speed)),
        )
        ends = [recorder.record(index) for index in range(settings.episodes)]
    assert recorder.writer is not None
    results = (
        AgentResult(
            facts=each,
            name=name,
            returns=tuple(steps[at].total for steps in ends),
            lengths=tuple(steps[at].number for steps in ends),
        )
        for at, (each, name) in enumerate(zip(facts, names, strict=True))
    )
    return ComparisonFilm(info=recorder.writer.info(), agents=tuple(results))


class _Recorder:
    """Records one episode after another into one film, which is opened at the first frame."""

    def __init__(
        self,
        agents: Sequence[Agent],
        names: Sequence[str],
        settings: ComparisonSettings,
        most_steps: int | None,
        report: Report,
        open_writer: Callable[[float], FilmWriter],
    ) -> None:
        """``open_writer`` opens the film, given the environment's steps per second.

        ``most_steps``: the maximum of an episode; None if unknown.
        """
        self._agents, self._names = agents, names
        self._settings, self._most_steps, self._report = settings, most_steps, report
        self._open_writer = open_writer
        self._canvases: list[Canvas] = []
        self.writer: FilmWriter | None = None

    def record(self, index: int) -> list[RolloutStep]:
        """Record an episode; return the last step of each agent."""
        settings, frame, shots = self._settings, None, list[Shot]()
        with filmed_episode(self._agents, settings.seed, index, self._pushes) as episode:
            self.writer = writer = self.writer or self._open_writer(episode.fps)
            for number, shots in enumerate(episode, 1):
                frame = self._compose(shots)
                writer.write(frame)
                self._report(self._progress(index, number))
        if frame is not None:
            for _ in range(round(HOLD_S * writer.fps * writer.stride)):
                writer.write(frame)
        return [shot.step for shot in shots]

    def _pushes(self, fps: float) -> Pushes:
        pushes = Pushes(fps)
        for step in self._settings.pushes:
            pushes.add(step)
        return pushes

    def _progress(self, index: int, step: int) -> FilmProgress:
        assert self.writer is not None
        frames = self.writer.info().frames
        return FilmProgress(episode=index, step=step, most=self._most_steps, frames=frames)

    def _compose(self, shots: Sequence[Shot]) -> NDArray[np.uint8]:
        """Return a frame with all pictures in rows, each with its caption."""
        if not self._canvases:
            self._canvases = [Canvas(shots[0].picture) for _ in shots]
        tiles = [
            canvas.compose(shot.picture, _caption(name, shot.step))
            for canvas, name, shot in zip(self._canvases, self._names, shots, strict=True)
        ]
        count = len(tiles)
        columns = self._settings.columns or (count if count <= _MOST_IN_A_ROW else -(-count // 2))
        return _in_rows(tiles, min(columns, count))


def _caption(name: str, step: RolloutStep) -> Caption:
    return Caption(left=name, mark=str(step.ending), right=return_caption(step.total))


def _in_rows(tiles: Sequence[NDArray[np.uint8]], columns: int) -> NDArray[np.uint8]:
    """Return one picture of equally sized tiles (height, width, 3) in rows."""
    height, width = tiles[0].shape[:2]
    rows = -(-len(tiles) // columns)
    size = rows * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP
    frame = np.full((*size, 3), BACK, np.uint8)
    for at, tile in enumerate(tiles):
        row, column = divmod(at, columns)
        top, left = row * (height + _GAP), column * (width + _GAP)
        frame[top : top + height, left : left + width] = tile
    return frame
