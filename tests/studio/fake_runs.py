"""Fabricated runs on disk: tables, endings and notes as left by a run."""

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import ArrayLike

from studio.session.agents import SavedAgents
from studio.session.history import RunHistory
from studio.session.record import RunRecord
from studio.session.series import Series
from studio.window.main_window import MainWindow
from td3core.config import make_settings
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.protocol.rows import EPISODE_COLUMNS
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import RunLabel, write_label
from td3core.text import Text
from tests.support.tables import PLAIN_EVALUATION


def make_run(
    runs_dir: Path,
    env: str = "Pendulum-v1",
    *,
    reached: int = 1000,
    first: int = 0,
    stopped: str | None = "finished",
    message: str = "",
    created: str = "",
    parent: tuple[str, int] | None = None,
    name: str = "",
    note: str = "",
    preset: str = "",
    **values: Any,
) -> RunDirectory:
    """Make a run from step ``first`` to ``reached``; without ``stopped`` it was cut short."""
    settings = {"env": env, "preset": preset or env, "steps": 1000, **values}
    run = RunDirectory.create(runs_dir, *make_settings(settings))
    _write_tables(run, first, reached)
    path = run.path / "run.toml"
    found = tomllib.loads(path.read_text())
    if created:
        found["created"] = created
    if parent is not None:
        about = {"run": parent[0], "checkpoint": "best.safetensors", "env_steps": parent[1]}
        found["parent"] = about
    path.write_text(tomli_w.dumps(found))
    if stopped is not None:
        ending = {"stopped": stopped, "message": Text(message), "env_steps": reached}
        run.write_ending(ending | {"wall_s": reached / 150})
    if name or note:
        write_label(run.path, RunLabel(name=name, note=note))
    return RunDirectory.open(run.path)


def open_record(window: MainWindow, **parts: Any) -> None:
    """Show a run that was never on disk; ``parts`` are fields of its ``RunRecord``."""
    agents = SavedAgents(run=Path("run"), stamps={}, means={}, favourite=None, run_bytes=0)
    window.model.open(RunHistory(record=RunRecord(**parts), agents=agents))


def return_at(step: int) -> float:
    """Return the return of the episode that ends at this step."""
    return -1500.0 + 1300.0 * (1 - math.exp(-step / 400)) + 60 * math.sin(step)


PLAIN_TRAINING = (*TRAINING_COLUMNS[:8], "time_s")
"""Columns of a run from before the health of networks was measured."""


def add_training(series: Series, rows: ArrayLike) -> None:
    """Add rows of training statistics that lack the last columns of a series."""
    plain = np.atleast_2d(np.asarray(rows, np.float64))
    lacking = np.full((len(plain), len(series.columns) - plain.shape[1]), np.nan)
    series.append(np.hstack((plain, lacking)))


def _write_tables(run: RunDirectory, first: int, last: int) -> None:
    training = run.table("training", PLAIN_TRAINING)
    for step in range(first + 50, last + 1, 50):
        q = -100 + step / 20
        losses = (3.0 + math.sin(step), 2.5 + math.cos(step), -q)
        training.add((step, step - first, q, q - 1, q - 0.5, *losses, f"{step / 150:.3f}"))
    episodes = run.table("episodes", EPISODE_COLUMNS)
    for number, step in enumerate(range(first + 100, last + 1, 100)):
        value = return_at(step)
        episodes.add((number, step, value, value, 100, 0, f"{step / 150:.3f}"))
    evaluations = run.table("evaluations", PLAIN_EVALUATION)
    for step in range(first + 250, last + 1, 250):
        value = return_at(step) + 50
        evaluations.add((step, value, 9.0, "", 0, value, 100, 0, f"{step / 150:.3f}"))
    for table in (training, episodes, evaluations):
        table.flush()
