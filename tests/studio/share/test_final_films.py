"""Films of the best agents for TensorBoard when runs have ended, made in other processes."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.session.controller import RunController, SessionState
from studio.share.final_films import FinalFilms
from studio.tasks.cli_process import CliProcess
from studio.window.main_window import MainWindow
from td3core.errors import quoted
from td3core.exporters.live.registry import TENSORBOARD
from td3core.protocol.events import Failed, Interrupted
from td3core.runs.naming import full_name_of
from td3core.text import Text
from tests.studio.experiments.test_groups import fill_in
from tests.studio.fake_runs import make_run
from tests.support.events import ended
from tests.support.marks import release, slow

WAIT_MS = 20_000
LONG_MS = 240_000


class Asked(CliProcess):
    """Answers when the test does."""

    made: "list[Asked]"

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.words: list[list[str]] = []
        self.waits = False
        self.variables: Mapping[str, str] = {}
        self.made.append(self)

    @property
    def busy(self) -> bool:
        return self.waits

    def run(self, words: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.words.append([*words])
        self.waits, self.variables = True, environment or {}

    def cancel(self) -> None:
        self.waits = False

    @property
    def runs(self) -> list[str]:
        """Runs requested for filming so far."""
        return [Path(words[-1]).name for words in self.words]

    def answer(self, *, new: bool = True) -> None:
        self.waits = False
        self.answered.emit({"films": [{"new": new}]})

    def refuse(self, reason: str) -> None:
        self.waits = False
        self.refused.emit(quoted(reason))


class Group(QObject):
    """The part of a group's session that the films use."""

    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.busy, self.current = False, None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> type[Asked]:
    monkeypatch.setattr("studio.share.final_films.CliProcess", Asked)
    Asked.made = []
    return Asked


@pytest.fixture
def wanted(tmp_path: Path) -> list[Path]:
    """Folder for films; a test may empty it."""
    return [tmp_path / "curves"]


@pytest.fixture
def films(qtbot: QtBot, asked: type[Asked], wanted: list[Path]) -> Iterator[FinalFilms]:
    made = FinalFilms(lambda: wanted[0] if wanted else None, lambda: {"MUJOCO_GL": "egl"})
    yield made
    made.cancel()


@pytest.fixture
def run_at(runs_dir: Path, wanted: list[Path]) -> Callable[..., Path]:
    """Make a run, with event files or without."""

    def make(seed: int, *, files: bool = True) -> Path:
        path = make_run(runs_dir, seed=seed).path
        if files:
            (wanted[0] / path.name).mkdir(parents=True)
        return path

    return make


def told_by(films: FinalFilms) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    films.told.connect(lambda level, text: told.append((level, str(text))))
    return told


def test_films_are_made_one_after_another_where_there_are_event_files(
    qtbot: QtBot, films: FinalFilms, run_at: Any, wanted: list[Path]
) -> None:
    (command,), told = Asked.made, told_by(films)
    first, without, third = run_at(1), run_at(2, files=False), run_at(3)
    for run in (first, without, third, third):
        films.add(run)
    qtbot.waitUntil(lambda: command.runs == [first.name], timeout=WAIT_MS)
    assert command.words[0][:4] == ["film", "--tensorboard", str(wanted[0]), "--json"]
    assert command.variables == {"MUJOCO_GL": "egl"}
    assert films.busy
    command.answer()
    qtbot.waitUntil(lambda: command.runs == [first.name, third.name], timeout=WAIT_MS)
    command.refuse("It has no pictures.")
    qtbot.waitUntil(lambda: not films.busy, timeout=WAIT_MS)
    assert told == [
        ("info", f"TensorBoard shows a film of {full_name_of(first)}."),
        ("warning", f"There is no film of {full_name_of(third)}: It has no pictures."),
    ]


def test_nothing_is_said_of_a_film_that_was_there(
    qtbot: QtBot, films: FinalFilms, run_at: Any
) -> None:
    (command,), told = Asked.made, told_by(films)
    films.add(run_at(1))
    qtbot.waitUntil(lambda: command.waits, timeout=WAIT_MS)
    command.answer(new=False)
    qtbot.waitUntil(lambda: not films.busy, timeout=WAIT_MS)
    assert told == []


def test_films_that_are_no_longer_wanted_are_not_made(
    qtbot: QtBot, films: FinalFilms, run_at: Any, wanted: list[Path]
) -> None:
    (command,) = Asked.made
    first, second = run_at(1), run_at(2)
    for run in (first, second):
        films.add(run)
    qtbot.waitUntil(lambda: command.waits, timeout=WAIT_MS)
    films.cancel()
    assert not films.busy
    assert not command.waits
    wanted.clear()
    films.add(second)
    assert not films.busy


def test_runs_are_filmed_at_their_end_and_those_of_a_group_after_all_of_them(
    qtbot: QtBot, films: FinalFilms, run_at: Any
) -> None:
    (command,), controller, group = Asked.made, RunController(), Group()
    films.watch(controller, group)  # type: ignore[arg-type]
    alone, failed, of_group, cut = (run_at(seed) for seed in range(4))
    never = Failed(message=Text("no"), details="", request=True)
    for event in (never, Interrupted(run=cut, env_steps=5), ended(run=alone)):
        controller.event_reported.emit(event)
    qtbot.waitUntil(lambda: command.runs == [alone.name], timeout=WAIT_MS)
    command.answer()
    ending = ended("failed", run=failed)
    controller.event_reported.emit(Failed(message=Text("no"), details="", ending=ending))
    qtbot.waitUntil(lambda: command.runs[1:] == [failed.name], timeout=WAIT_MS)
    command.answer()
    qtbot.waitUntil(lambda: not films.busy, timeout=WAIT_MS)
    # One of a group may be shown in the plots as well.
    group.busy = True
    statuses = {0: SimpleNamespace(run=of_group), 1: SimpleNamespace(run=None)}
    group.current = SimpleNamespace(statuses=statuses)
    controller.event_reported.emit(ended(run=of_group))
    assert not films.busy
    group.busy = False
    group.ended.emit()
    qtbot.waitUntil(lambda: command.runs[2:] == [of_group.name], timeout=WAIT_MS)


@pytest.fixture
def filming(
    window: MainWindow, find: Callable[[str], QWidget], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return the folder for films after they were switched on in the settings."""
    pytest.importorskip("tensorboardX")
    # Restored at the end, whatever the window does to it.
    monkeypatch.setenv(TENSORBOARD.variable, "")
    window.toolbar.action("settings").trigger()
    for name in ("tensorboard", "tensorboard_film"):
        find(f"preferences_{name}").click()
    find("preferences_dialog").close()
    return Path(os.environ[TENSORBOARD.variable])


def shown_films(folder: Path) -> list[bytes]:
    name = "tensorboard.backend.event_processing.event_accumulator"
    found = pytest.importorskip(name).EventAccumulator(str(folder))
    found.Reload()
    return [each.encoded_image_string[:4] for each in found.Images("eval/film")]


@pytest.mark.parametrize("own_process", [*slow(False), *release(True)], ids=["thread", "process"])
def test_a_run_of_the_window_has_a_film_at_its_end_and_once(
    qtbot: QtBot, window: MainWindow, find: Any, filming: Path, own_process: bool
) -> None:
    told = told_by(window.films)
    fill_in(find, "Pendulum-v1", 400)
    window.setup.own_process.setChecked(own_process)
    find("train_button").click()
    qtbot.waitUntil(lambda: told != [], timeout=LONG_MS)
    assert [level for level, _ in told] == ["info"]
    # The process of a run may outlive its film for a moment.
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=LONG_MS)
    run = window.model.record.run
    assert shown_films(filming / run.name) == [b"GIF8"]
    assert "TensorBoard shows a film of Pendulum-v1" in find("log_view").toPlainText()
    # Asked again, nothing is added.
    window.films.add(run)
    qtbot.waitUntil(lambda: not window.films.busy, timeout=LONG_MS)
    assert len(told) == 1
    assert len(list((filming / run.name).glob("*.film"))) == 1


@pytest.mark.release
def test_each_run_of_a_group_has_a_film_when_all_have_ended(
    qtbot: QtBot, window: MainWindow, find: Any, filming: Path
) -> None:
    told = told_by(window.films)
    fill_in(find, "Pendulum-v1", 400, "2")
    find("train_button").click()
    qtbot.waitUntil(lambda: len(told) == 2, timeout=LONG_MS)
    assert [level for level, _ in told] == ["info", "info"]
    assert [shown_films(folder) for folder in filming.iterdir()] == [[b"GIF8"]] * 2


@pytest.mark.slow
def test_a_window_that_closes_ends_the_film_and_leaves_no_part_of_it(
    qtbot: QtBot, window: MainWindow, find: Any, filming: Path
) -> None:
    fill_in(find, "Pendulum-v1", 400)
    find("train_button").click()
    films = window.films
    qtbot.waitUntil(lambda: films.busy, timeout=LONG_MS)
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=LONG_MS)
    window.close()
    assert not films.busy
    (folder,) = filming.iterdir()
    assert not [*folder.glob("*.film"), *folder.glob("*.part")]
