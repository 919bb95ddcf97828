"""The agents filmed for a report, and films small enough for a page."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from td3core.analysis.comparison import Comparison
from td3core.analysis.results import RunResults
from td3core.exporters.film.growth import FilmSettings, Scene, record_growth, scenes_of_run
from td3core.exporters.film.progress import Report, silent
from td3core.exporters.report.document import Film
from td3core.runs.directory import RunDirectory
from td3core.text import tr

MOST_FILMS = 4
_STAGES = 3
"""Checkpoints of a run reported alone: its beginning, middle and best."""
_MOST_S, _WIDTH, _FPS = 5.0, 360, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The agents of a film, in order."""

    name: str
    """Name of the group or run."""
    scenes: tuple[Scene, ...]


def casts_of(comparison: Comparison) -> list[Cast]:
    """Return the agents to film: each group's best run, or several stages of a single group's.

    Runs without a checkpoint are left out.
    """
    groups = comparison.groups[:MOST_FILMS]
    casts = []
    for each in groups:
        run = max(each.group.runs, key=lambda run: _worth(run, comparison))
        directory = RunDirectory.open(run.path)
        if not directory.saved():
            continue
        scenes = scenes_of_run(directory)
        casts.append(Cast(name=each.name, scenes=_chosen(scenes, grows=len(groups) == 1)))
    return casts


def _worth(run: RunResults, comparison: Comparison) -> float:
    final = run.final("return" if comparison.metric == "return" else "eval")
    return final if final == final else float("-inf")


def _chosen(scenes: Sequence[Scene], *, grows: bool) -> tuple[Scene, ...]:
    best = next((scene for scene in scenes if scene.best), scenes[-1])
    before = [scene for scene in scenes if scene.env_steps < best.env_steps]
    if not grows or not before:
        return (best,)
    count = min(len(before), _STAGES - 1)
    return (*(before[at * len(before) // count] for at in range(count)), best)


def film_of(cast: Cast, report: Report = silent) -> Film:
    """Play an episode of each agent, or its first seconds, and return the film.

    Raises:
        RequestError: the environment cannot render images, or a checkpoint cannot be read.
        RunError: the environment raised an exception.
    """
    settings = FilmSettings(most_s=_MOST_S, most_width=_WIDTH, most_fps=_FPS)
    with tempfile.TemporaryDirectory(prefix="td3-studio-report-") as folder:
        target = Path(folder) / "film.gif"
        made = record_growth(cast.scenes, target, settings, report)
        gif = target.read_bytes()
    steps = ", ".join(f"{each.scene.env_steps:,}" for each in made.scenes)
    about = tr("{name}: an episode without noise after {steps} steps", name=cast.name, steps=steps)
    return Film(gif=gif, width=made.info.width, height=made.info.height, about=about)
