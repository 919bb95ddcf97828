"""A run whose power is cut at any moment opens, and continues as if nothing had happened."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from td3core.config import to_dict
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Started, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, changes_of
from td3core.runs.resumption import resume_point
from td3core.training.launch import branch, resume, train
from tests.support.lives import differences, run_of
from tests.support.marks import release, slow
from tests.support.power import Cut, failing
from tests.td3core.helpers import Told, finish, tiny
from tests.td3core.training.resuming import each_way, go_on, stopped

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links and flushed folders")

INTERVAL = 20
VALUES: dict[str, Any] = {"steps": 65, "eval_interval": 30, "checkpoint_interval": INTERVAL}


class Turns(Control):
    """Counts the turns of a run of one environment, and so its steps."""

    def __init__(self, env_steps: int = 0) -> None:
        super().__init__(boundary_hook=self._note)
        self.env_steps = env_steps

    def _note(self, env_steps: int) -> None:
        self.env_steps = env_steps


def cut_off(
    tmp_path: Path, runs_dir: Path, *changes: Change, **values: Any
) -> tuple[Path, list[Cut]]:
    """Return a whole run, and what cuts would have left of its folder of runs."""
    config, tunables = tiny(**VALUES | values)
    turns = Turns()
    with failing(tmp_path, lambda: turns.env_steps) as power:
        ended = train(config, tunables, turns, Told(), runs_dir, changes)
    assert isinstance(ended, Ended)
    for cut in power.cuts:
        # The folder of runs is new as well.
        below = {name: data for name, data in cut.tree.items() if name.startswith("runs/")}
        cut.tree = {name.removeprefix("runs/"): data for name, data in below.items()}
    return ended.run, power.cuts


def require_all_go_on(
    cuts: list[Cut], folder: Path, straight: Path, every: int, begun: int = 0
) -> None:
    """See each of the ``cuts`` go on, with all steps but those of one interval, to the same end.

    ``every``: try the first of so many, and the first of the next.
    """
    assert len({cut.disk for cut in cuts}) > 3
    tried, ended = cuts[::every], 0
    for number, cut in enumerate(tried):
        place = folder / f"{number:04d}"
        place.mkdir(parents=True)
        cut.lay_out(place)
        where = f"{place}: {cut.disk}, moment {cut.moment}, step {cut.env_steps}"
        found = run_of(place)
        if found is None:
            assert cut.env_steps <= begun, f"the run is gone: {where}"
            continue
        outcome, told = go_on(found)
        gone = isinstance(outcome, Failed) and "before it had copied" in str(outcome.message)
        if gone:
            assert cut.env_steps <= begun, where
        elif isinstance(outcome, Failed):
            # Nothing was missing: it was at its end.
            assert "is at step" in str(outcome.message), f"{outcome}: {where}"
        for started in told.all(Started):
            assert cut.env_steps - started.env_steps <= INTERVAL, where
        assert not told.all(Warned), f"{told.all(Warned)}: {where}"
        if not gone:
            assert differences(straight, found) == [], where
            ended += 1
        shutil.rmtree(place)
    assert ended > len(tried) / 2


KEPT: list[dict[str, Any]] = [
    {"buffer_size": 25},
    {"bias_interval": 1},
    {"keep_every": 2},
    {"keep_every": 0, "keep_best": 1},
]


each_cut = pytest.mark.parametrize("every", [*slow(37), *release(1)], ids=["some", "all"])


@each_cut
@pytest.mark.parametrize("values", [*release(*KEPT[1:]), KEPT[0]], ids=str)
def test_a_run_goes_on_the_same_after_a_power_failure(
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    values: dict[str, Any],
    every: int,
) -> None:
    # The ring of the memory comes round on disk too.
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK", 25)
    straight, cuts = cut_off(tmp_path, runs_dir, **values)
    require_all_go_on(cuts, tmp_path / "cuts", straight, every)


@each_way
@pytest.mark.slow
def test_every_live_change_that_a_checkpoint_knows_of_is_on_record_after_a_power_failure(
    runs_dir: Path, tmp_path: Path, every: int
) -> None:
    _, cuts = cut_off(tmp_path, runs_dir, Change(33, "tau", 0.5), Change(47, "batch_size", 5))
    known = 0
    for number, cut in enumerate(cuts[::every]):
        place = tmp_path / f"cuts/{number:04d}"
        place.mkdir(parents=True)
        cut.lay_out(place)
        found = run_of(place)
        point = resume_point(RunDirectory.open(found)) if found else None
        if found is None or point is None:
            continue
        saved = point.saved
        tunables = to_dict(RunDirectory.open(found).first_tunables)
        step = saved.header.counters.env_steps
        for change in changes_of(RunDirectory.open(found).journal()):
            if change.env_steps < step:
                tunables[change.name] = change.new
        assert to_dict(saved.header.tunables) == tunables, (cut.disk, cut.moment, place)
        known += step > 33
    assert known


@each_cut
def test_so_it_does_when_it_had_been_resumed(runs_dir: Path, tmp_path: Path, every: int) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    outcome = stopped(runs_dir / "broken", 33, **VALUES)
    turns = Turns(33)
    with failing(runs_dir / "broken", lambda: turns.env_steps) as power:
        ended = resume(outcome.run, turns, Told())
    assert isinstance(ended, Ended)
    require_all_go_on(power.cuts, tmp_path / "cuts", straight.run, every, begun=33)


@each_cut
def test_so_does_a_branch(runs_dir: Path, tmp_path: Path, every: int) -> None:
    parent = RunDirectory.open(finish(runs_dir / "parent", **VALUES).run)
    (runs_dir / "branches").mkdir()
    turns = Turns(40)
    with failing(runs_dir / "branches", lambda: turns.env_steps) as power:
        straight = branch(
            parent.step_checkpoint(40), {"tau": 0.1}, turns, Told(), runs_dir / "branches"
        )
    assert isinstance(straight, Ended)
    require_all_go_on(power.cuts, tmp_path / "cuts", straight.run, every, begun=40)
