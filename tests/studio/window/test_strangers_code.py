"""A third party's run in the window: it asks once about its code, and needs a yes to run it."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium as gym
import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from studio.consent.dialog import ConsentDialog
from studio.replay.player import PlayerState
from studio.session.controller import SessionState
from studio.session.history import read_history
from studio.setup.env_query import EnvQuery
from studio.share.film_dialogs import GrowthFilmDialog
from studio.window.main_window import MainWindow
from td3core.envs import trust_store
from tests.studio.window.test_main_job import click
from tests.support.marks import release, slow
from tests.support.stranger import Stranger
from tests.td3core.helpers import finish

NAME = "theirs_env"
ENV = f"{NAME}:Slide"
WAIT_MS = 120_000
SOON_S = 10.0
"""It takes a fraction of a second, except on a busy machine."""
Find = Callable[[str], QWidget]


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stranger]:
    made = Stranger(tmp_path, monkeypatch)
    made.write(NAME)
    yield made
    made.leave(NAME)
    gym.registry.pop("StrangerSlide-v0", None)


@pytest.fixture
def run(stranger: Stranger, tmp_path: Path) -> Path:
    """Return a run in the window's folder; its module has not been imported yet."""
    found = finish(tmp_path / "runs", ENV, eval_interval=30, background_evaluation=False).run
    stranger.leave(NAME)
    return found


def question(qtbot: QtBot, window: MainWindow) -> ConsentDialog:
    qtbot.waitUntil(lambda: bool(window.findChildren(ConsentDialog)), timeout=WAIT_MS)
    (dialog,) = window.findChildren(ConsentDialog)
    return dialog


def answer(qtbot: QtBot, window: MainWindow, button: str) -> None:
    dialog = question(qtbot, window)
    found = dialog.findChild(QWidget, f"consent_{button}_button")
    click(qtbot, found)
    qtbot.waitUntil(lambda: dialog not in window.findChildren(ConsentDialog), timeout=WAIT_MS)


def open_run(window: MainWindow, run: Path) -> None:
    window.model.open(read_history(run, lambda: False))


@pytest.fixture
def only_runs(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only runs import the module: no renderer, and nothing that examines it."""
    monkeypatch.setattr(EnvQuery, "ask", lambda *_, **__: None)
    monkeypatch.setattr(window.replay, "show_run", lambda _, **__: None)


def idle(window: MainWindow) -> bool:
    return window.controller.state is SessionState.IDLE


@pytest.mark.slow
def test_opening_a_run_asks_with_module_and_path_and_no_is_the_default(
    qtbot: QtBot, window: MainWindow, find: Find, stranger: Stranger, run: Path
) -> None:
    open_run(window, run)
    dialog = question(qtbot, window)
    shown = {name: dialog.findChild(QLabel, f"consent_{name}") for name in ("module", "path")}
    assert {name: label.text().replace("\u200b", "") for name, label in shown.items()} == {
        "module": NAME,
        "path": str(stranger.folder / f"{NAME}.py"),
    }
    assert dialog.findChild(QWidget, "consent_refuse_button").isDefault()
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not window.findChildren(ConsentDialog), timeout=WAIT_MS)
    assert stranger.imported == set()
    assert not stranger.trusted.exists()
    # The rest of the run exists.
    assert window.model.record.run == run
    assert find("env_combo").currentText() == ENV
    message = window.replay.message.text().replace("\u200b", "")
    assert "theirs_env.py" in message
    assert "not allowed" in message
    assert find("replay_allow_button").isVisible()
    # Not again for another agent, until the user wants it.
    with qtbot.waitSignal(window.replay.player.code_refused, timeout=WAIT_MS):
        window.replay.choose(next((run / "checkpoints").iterdir()))
    assert window.findChildren(ConsentDialog) == []
    click(qtbot, find("replay_allow_button"))
    with qtbot.waitSignal(window.replay.player.loaded, timeout=WAIT_MS):
        answer(qtbot, window, "allow")
    assert not find("replay_allow_button").isVisible()
    qtbot.waitUntil(lambda: window.replay.player.state is PlayerState.PLAYING, timeout=WAIT_MS)
    assert stranger.imported == {NAME}
    assert os.getpid() not in stranger.processes


@pytest.mark.slow
def test_an_answer_is_remembered_for_the_next_window(
    qtbot: QtBot, window: MainWindow, stranger: Stranger, run: Path
) -> None:
    stranger.allow(NAME)
    with qtbot.waitSignal(window.replay.player.loaded, timeout=WAIT_MS):
        open_run(window, run)
    assert window.findChildren(ConsentDialog) == []


@pytest.mark.slow
def test_nothing_is_started_without_a_yes(
    qtbot: QtBot, window: MainWindow, stranger: Stranger, run: Path
) -> None:
    line = '{"step": 30, "field": "tau", "old": 0.005, "new": 0.01, "time": "now"}\n'
    (run / "journal.jsonl").write_text(line)
    # A no holds for one request: the next one asks again.
    for action in ("resume", "repeat_changes", "branch", "verify"):
        window.banner.hide()
        given = run / "checkpoints" / "last.safetensors" if action == "branch" else run
        getattr(window.launcher, action)(given)
        answer(qtbot, window, "refuse")
        assert window.banner.isVisible(), action
        assert "not allowed to run" in window.banner.text
        assert idle(window)
        assert not window.verify.busy
        assert stranger.imported == set()


@pytest.mark.slow
def test_a_run_is_resumed_after_a_yes(
    qtbot: QtBot,
    window: MainWindow,
    only_runs: None,
    stranger: Stranger,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(QDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    window.launcher.resume(run)
    answer(qtbot, window, "allow")
    qtbot.waitUntil(lambda: stranger.imported == {NAME}, timeout=WAIT_MS)
    with qtbot.waitSignal(window.model.run_ended, timeout=WAIT_MS):
        pass
    qtbot.waitUntil(lambda: idle(window), timeout=WAIT_MS)
    assert "not allowed" not in window.banner.text


@pytest.mark.parametrize("how", [*slow("stop"), *release("close")])
def test_an_environment_that_is_never_made_ends_with_stop_and_with_the_window(
    qtbot: QtBot,
    window: MainWindow,
    only_runs: None,
    find: Find,
    stranger: Stranger,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    stranger.hang(NAME)
    stranger.allow(NAME)
    monkeypatch.setattr(QDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    monkeypatch.setattr("studio.window.main_window.ask_what_to_do", lambda *_, **__: "stop")
    before = sorted(run.parent.rglob("*"))
    window.launcher.resume(run)
    qtbot.waitUntil(lambda: NAME in window.model.preparing, timeout=WAIT_MS)
    assert find("status_state").text().endswith("preparing")
    (child,) = (
        each
        for each in psutil.Process().children(recursive=True)
        if any("rehearsal" in word for word in each.cmdline())
    )
    started = time.monotonic()
    if how == "close":
        window.close()
        qtbot.waitUntil(lambda: not window.isVisible(), timeout=WAIT_MS)
    else:
        click(qtbot, find("stop_button"))
        qtbot.waitUntil(lambda: idle(window), timeout=WAIT_MS)
    assert time.monotonic() - started < SOON_S
    assert not child.is_running()
    assert sorted(run.parent.rglob("*")) == before
    assert NAME not in sys.modules


# A process of its own makes it once, the run twice before its first step: then comes the next
# episode, or the evaluation.
@pytest.mark.parametrize(
    ("interval", "way", "how"),
    [
        pytest.param(0, "stop", "in Python", marks=pytest.mark.release),
        pytest.param(0, "close", "in C code that keeps the interpreter", marks=pytest.mark.release),
        pytest.param(40, "stop", "in C code that keeps the interpreter", marks=pytest.mark.slow),
    ],
)
def test_an_environment_that_hangs_when_it_is_made_again_ends_with_a_second_stop(
    qtbot: QtBot,
    window: MainWindow,
    only_runs: None,
    find: Find,
    stranger: Stranger,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    interval: int,
    way: str,
    how: str,
) -> None:
    stranger.write_deaf(NAME, "__init__", after=3, how=how, everywhere=True)
    stranger.allow(NAME)
    monkeypatch.setattr(QDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    monkeypatch.setattr("studio.window.main_window.ask_what_to_do", lambda *_, **__: "stop")
    text = (run / "run.toml").read_text()
    changed = re.sub(r"(?m)^eval_interval = .*$", f"eval_interval = {interval}", text)
    assert changed != text or f"eval_interval = {interval}\n" in text
    (run / "run.toml").write_text(changed)
    before = set(psutil.Process().children(recursive=True))
    window.launcher.resume(run)
    qtbot.waitUntil(lambda: stranger.hangs, timeout=WAIT_MS)
    children = set(psutil.Process().children(recursive=True)) - before
    assert children
    end = window.close if way == "close" else find("stop_button").click
    end()
    qtbot.waitUntil(lambda: window.controller.can_give_up, timeout=WAIT_MS)
    assert window.isVisible()
    assert "may hang" in find("stop_button").toolTip()
    end()
    if way == "close":
        qtbot.waitUntil(lambda: not window.isVisible(), timeout=int(SOON_S * 1000))
    else:
        qtbot.waitUntil(lambda: idle(window), timeout=int(SOON_S * 1000))
        assert "did not respond" in window.banner.text
    assert psutil.wait_procs(children, timeout=SOON_S)[1] == []
    assert NAME not in sys.modules


@pytest.mark.parametrize("how", [*release("stop"), "close"])
# The group's process makes it twice before its runs do.
@pytest.mark.parametrize("after", [*release(0), *slow(2)], ids=["in the group", "in its runs"])
def test_a_group_whose_environment_is_never_made_ends_with_stop_and_with_the_window(
    qtbot: QtBot,
    window: MainWindow,
    find: Find,
    stranger: Stranger,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    after: int,
) -> None:
    stranger.write_deaf(NAME, "__init__", after=after, everywhere=True)
    stranger.allow(NAME)
    monkeypatch.setenv("PYTHONPATH", str(stranger.folder), prepend=os.pathsep)
    monkeypatch.setattr(EnvQuery, "ask", lambda *_, **__: None)
    monkeypatch.setattr("studio.window.main_window.ask_what_to_do", lambda *_, **__: "stop")
    before = set(psutil.Process().children(recursive=True))
    find("env_combo").setCurrentText(ENV)
    find("seeds_edit").setText("2")
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: stranger.hangs, timeout=WAIT_MS)
    begun = window.many.session.current is not None
    assert begun == bool(after)
    children = set(psutil.Process().children(recursive=True)) - before
    assert children
    started = time.monotonic()
    if how == "close":
        window.close()
        qtbot.waitUntil(lambda: not window.isVisible(), timeout=WAIT_MS)
    else:
        click(qtbot, find("stop_button"))
        qtbot.waitUntil(lambda: not window.many.busy, timeout=WAIT_MS)
    assert time.monotonic() - started < SOON_S
    assert psutil.wait_procs(children, timeout=SOON_S)[1] == []
    assert NAME not in sys.modules


@pytest.mark.release
def test_a_run_is_verified_in_another_process_after_a_yes(
    qtbot: QtBot, window: MainWindow, stranger: Stranger, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(stranger.folder), prepend=os.pathsep)
    window.launcher.verify(run)
    answer(qtbot, window, "allow")
    qtbot.waitUntil(lambda: window.verify.busy, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not window.verify.busy, timeout=WAIT_MS)
    assert "not allowed" not in window.verify.verdict.text()
    assert os.getpid() not in stranger.processes
    assert stranger.imported == {NAME}
    kind = QDialogButtonBox.StandardButton.Close
    click(qtbot, window.verify.buttons.button(kind))


@pytest.mark.slow
def test_leaving_the_field_that_a_run_filled_asks_too_and_train_needs_a_yes(
    qtbot: QtBot,
    window: MainWindow,
    find: Find,
    stranger: Stranger,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window.replay, "show_run", lambda _, **__: None)
    open_run(window, run)
    editor = find("env_combo").findChild(QLineEdit)
    editor.editingFinished.emit()
    answer(qtbot, window, "refuse")
    assert "not allowed" in find("env_facts").text()
    # Leaving it again does not ask again; Train does.
    editor.editingFinished.emit()
    assert window.findChildren(ConsentDialog) == []
    click(qtbot, find("train_button"))
    answer(qtbot, window, "refuse")
    assert idle(window)
    assert stranger.imported == set()
    # Typed again, it is still the name from the file.
    editor.selectAll()
    qtbot.keyClicks(editor, f"{NAME}:StrangerSlide-v0")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "not allowed" in find("env_facts").text(), timeout=WAIT_MS)
    assert stranger.imported == set()


@pytest.mark.slow
def test_what_is_typed_is_trained_without_a_question(
    qtbot: QtBot,
    window: MainWindow,
    find: Find,
    stranger: Stranger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EnvQuery, "ask", lambda *_, **__: None)
    editor = find("env_combo").findChild(QLineEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, ENV)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    find("field_actor_hidden").setText("8")
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING, timeout=WAIT_MS)
    assert window.findChildren(ConsentDialog) == []
    assert NAME in {name for name, _ in trust_store.remembered()}


@pytest.mark.slow
def test_a_window_that_closes_asks_nothing_any_more(
    qtbot: QtBot, window: MainWindow, stranger: Stranger, run: Path
) -> None:
    open_run(window, run)
    dialog = question(qtbot, window)
    window.close()
    dialog.accept()
    assert stranger.imported == set()
    assert window.replay.player.state is PlayerState.EMPTY


@pytest.mark.slow
def test_a_growth_film_of_a_run_asks_before_anything_is_filmed(
    qtbot: QtBot, window: MainWindow, stranger: Stranger, run: Path
) -> None:
    tasks, films = window.share.tasks, window.findChildren
    tasks.film_run(run)
    answer(qtbot, window, "refuse")
    assert not films(GrowthFilmDialog)
    tasks.film_run(run)
    answer(qtbot, window, "allow")
    qtbot.waitUntil(lambda: bool(films(GrowthFilmDialog)), timeout=WAIT_MS)
    assert stranger.imported == set()


@pytest.mark.slow
def test_what_could_not_be_remembered_is_allowed_to_the_renderer(
    qtbot: QtBot, window: MainWindow, stranger: Stranger, run: Path
) -> None:
    stranger.trusted.mkdir()
    with qtbot.waitSignal(window.replay.player.loaded, timeout=WAIT_MS):
        open_run(window, run)
        answer(qtbot, window, "allow")
    assert "the answer was not remembered" in window.banner.text
    assert stranger.imported == {NAME}
    # Another renderer gets the list, too.
    before = stranger.processes
    window.replay.player.close()
    with qtbot.waitSignal(window.replay.player.loaded, timeout=WAIT_MS):
        window.replay.choose(run / "checkpoints" / "last.safetensors")
    assert before < stranger.processes


@pytest.mark.release
def test_what_could_not_be_remembered_is_allowed_to_the_commands_of_the_window(
    qtbot: QtBot, window: MainWindow, stranger: Stranger, run: Path
) -> None:
    stranger.trusted.mkdir()
    window.launcher.verify(run)
    answer(qtbot, window, "allow")
    verdict = window.verify.verdict
    qtbot.waitUntil(lambda: "resumes exactly" in verdict.text(), timeout=WAIT_MS)
    assert "the answer was not remembered" in window.banner.text
    window.verify.close()
    assert os.getpid() not in stranger.processes
    verified = stranger.processes
    window.share.tasks.film_run(run)
    qtbot.waitUntil(lambda: bool(window.findChildren(GrowthFilmDialog)), timeout=WAIT_MS)
    (dialog,) = window.findChildren(GrowthFilmDialog)
    with qtbot.waitSignal(dialog.job.answered, timeout=WAIT_MS):
        dialog.job.run(["film", str(run), "--out", str(run.parent / "growth.gif"), "--json"])
    assert verified < stranger.processes
