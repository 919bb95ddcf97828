"""Reports of runs that train from this window."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.session.live_runs import LiveRuns
from td3core.config import make_settings
from td3core.protocol.events import Failed, Started
from td3core.text import Text
from tests.studio.settled import settle
from tests.support import events
from tests.support.events import evaluated
from tests.td3core.analysis.many_runs import write_run


def started(path: Path, env_steps: int = 0) -> Started:
    settings = make_settings({"env": "Pendulum-v1", "steps": 1000})
    return events.started(*settings, env_steps, run=path)


def means(live: LiveRuns, path: Path) -> list[tuple[float, float]] | None:
    measured = live.measured(path)
    return None if measured is None else [tuple(row) for row in measured.evaluations[:, :2]]


@pytest.fixture
def live(qtbot) -> Iterator[LiveRuns]:
    made = LiveRuns()
    yield made
    made.shutdown()


def test_runs_are_folded_by_who_reports_them(live: LiveRuns, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    changed: list[Path] = []
    live.changed.connect(changed.append)
    live.take(0, started(one))
    live.take(1, started(other))
    live.take(0, evaluated(100, 1.0))
    live.take(1, evaluated(100, 2.0))
    live.take(7, evaluated(100, 3.0))
    assert means(live, one) == [(100, 1.0)]
    assert means(live, other) == [(100, 2.0)]
    assert means(live, tmp_path / "third") is None
    assert changed == [one, other, one, other]


def test_a_run_that_is_resumed_has_what_its_files_tell_up_to_there(
    qtbot, live: LiveRuns, runs_dir: Path
) -> None:
    path = write_run(runs_dir, [1.0, 2.0, 3.0])
    live.take(0, started(path, env_steps=200))
    # Reported before the files are read: nothing of them is taken yet.
    assert live.measured(path) is None
    live.take(0, evaluated(300, 9.0))
    qtbot.waitUntil(lambda: live.measured(path) is not None, timeout=20_000)
    live.take(0, evaluated(400, 10.0))
    assert means(live, path) == [(100, 1.0), (200, 2.0), (300, 9.0), (400, 10.0)]


def test_a_run_whose_files_cannot_be_read_is_left_to_them(live: LiveRuns, tmp_path: Path) -> None:
    live.take(0, started(tmp_path / "gone", env_steps=200))
    settle(live)
    live.take(0, evaluated(300, 9.0))
    assert live.measured(tmp_path / "gone") is None


@pytest.mark.parametrize("over", ["ended", "failed", "nobody reports"])
def test_a_run_that_is_over_is_forgotten(live: LiveRuns, tmp_path: Path, over: str) -> None:
    path = tmp_path / "run"
    live.take(0, started(path))
    live.take(0, evaluated(100, 1.0))
    changed: list[Path] = []
    live.changed.connect(changed.append)
    if over == "ended":
        live.take(0, events.ended("user", run=path))
    elif over == "failed":
        live.take(0, Failed(message=Text("killed"), details=""))
    else:
        live.clear()
    assert live.measured(path) is None
    assert changed == [path]
    live.take(0, evaluated(200, 1.0))
    assert live.measured(path) is None


def test_a_run_that_ends_while_its_past_is_read_is_forgotten(
    qtbot, live: LiveRuns, runs_dir: Path
) -> None:
    path = write_run(runs_dir, [1.0, 2.0, 3.0])
    live.take(0, started(path, env_steps=200))
    live.clear()
    # It may begin again at once.
    live.take(0, started(path, env_steps=100))
    qtbot.waitUntil(lambda: live.measured(path) is not None, timeout=20_000)
    assert means(live, path) == [(100, 1.0)]
