"""Sweeps in the window, without conducting one: find, start, stop, export."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QFileDialog,
    QLabel,
    QMessageBox,
    QPushButton,
    QWidget,
)

from studio.consent.code_consent import CodeConsent
from studio.consent.dialog import ConsentDialog
from studio.experiments.sweep_panel import SweepPanel
from studio.experiments.sweep_plots import VIEWS, SweepPlots, View
from studio.experiments.sweep_process import SweepProcess
from studio.tasks.background_task import BackgroundTask
from studio.tasks.cli_process import CliProcess
from studio.theme.theme import load_theme
from studio.window.main_window import MainWindow
from td3core.experiments.sweeps.folder import SweepFolder, SweepState, TrialState
from td3core.protocol.trial_status import TrialStatus
from td3core.runs.lock import RunLock
from td3core.system import allowed_code
from td3core.system.files import make_folder
from tests.studio.fake_runs import make_run
from tests.support.stranger import Stranger

PATIENCE_MS = 60_000
OURS, THEIRS = "ours_env", "theirs_env"
SPACE = {
    "tau": {"low": 0.001, "high": 0.1, "log": True, "whole": False},
    "batch_size": {"choices": [32, 64]},
}
STATE = SweepState(
    name="tides",
    environment="Pendulum-v1",
    objective="last_eval",
    path="",
    wanted=4,
    space=SPACE,
    trials=tuple(
        TrialState(
            number=n,
            state=TrialStatus.DONE if n < 3 else TrialStatus.RUNNING,
            settings={"tau": 0.01 * (n + 1), "batch_size": 32 * (1 + n % 2)},
            value=-200.0 + 10 * n if n < 3 else None,
            env_steps=100,
        )
        for n in range(4)
    ),
)
NAMING_CODE = f"""
environment = "Pendulum-v1"
steps = 60
[settings]
learning_starts = 20
eval_interval = 30
[space.env_args]
choices = ["", '{{"a": "{OURS}:Slide"}}', '{{"a": "{THEIRS}:Slide"}}']
"""
SIMPLE = NAMING_CODE.split("[space", maxsplit=1)[0] + "[space.tau]\nchoices = [0.1, 0.2]"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let no command run; return the words of each."""
    started: list[list[str]] = []

    def run(process: CliProcess, words: list[str]) -> None:
        started.append(words)

    monkeypatch.setattr(CliProcess, "run", run)
    return started


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stranger]:
    made = Stranger(tmp_path, monkeypatch)
    for name in (OURS, THEIRS):
        made.write(name)
    yield made
    made.leave(OURS, THEIRS)


def answer(qtbot, window: MainWindow, button: str) -> str:
    """Answer the question about code; return the module in question."""
    qtbot.waitUntil(lambda: bool(window.findChildren(ConsentDialog)), timeout=PATIENCE_MS)
    (dialog,) = window.findChildren(ConsentDialog)
    module = dialog.findChild(QWidget, "consent_module").text().replace("\u200b", "")
    dialog.findChild(QWidget, f"consent_{button}_button").click()
    qtbot.waitUntil(lambda: dialog not in window.findChildren(ConsentDialog), timeout=PATIENCE_MS)
    return module


def test_a_sweep_starts_once_all_code_that_its_file_names_was_allowed(
    qtbot, window: MainWindow, find, tmp_path: Path, stranger: Stranger, commands: list[list[str]]
) -> None:
    file = tmp_path / "search.toml"
    file.write_text(NAMING_CODE)
    window.docks.open("sweeps")
    window.late.sweeps.start(file)
    # A second click while the question is open starts nothing more.
    window.late.sweeps.start(file)
    assert answer(qtbot, window, "allow") == OURS
    with qtbot.waitSignal(window.late.sweeps.ended, timeout=PATIENCE_MS):
        assert answer(qtbot, window, "refuse") == THEIRS
    assert commands == []
    assert "theirs_env.py was not allowed to run" in window.banner.text
    assert find("sweep_open_button").isEnabled()
    window.late.sweeps.start(file)
    with qtbot.waitSignal(window.late.sweeps.started, timeout=PATIENCE_MS):
        assert answer(qtbot, window, "allow") == THEIRS
    assert [words[:2] for words in commands] == [["sweep", str(file)]]
    assert find("status_state").text().endswith("sweep is training")
    # What is shown is none of its runs.
    assert find("status_numbers").text() == ""
    # The command itself asks nothing: its first message lists the allowed code.
    assert "--trust-env" not in commands[0]
    assert {OURS, THEIRS} <= {name for name, _ in allowed_code.snapshot()}
    assert stranger.imported == set()
    assert not window.banner.isVisible()
    window.late.sweeps.shutdown()


def write_sweep(runs_dir: Path, name: str) -> SweepFolder:
    """Write a sweep that no process conducts."""
    folder = SweepFolder(runs_dir, name)
    make_folder(folder.path)
    (folder.path / "sweep.toml").write_text("")
    folder.study_file.write_text("only its presence is looked at")
    folder.write_state(replace(STATE, name=name))
    return folder


@pytest.fixture
def left_alone(runs_dir: Path) -> Iterator[SweepFolder]:
    """Two sweeps, the second of which another process conducts, as far as its folder shows."""
    write_sweep(runs_dir, "first")
    folder = write_sweep(runs_dir, "tides")
    with RunLock(folder.path):
        yield folder


@pytest.fixture
def panel(qtbot, runs_dir: Path) -> Iterator[SweepPanel]:
    """The panel of sweeps without a window; it looks at them when it is told to."""
    outer = QWidget()
    qtbot.addWidget(outer)
    made = SweepPanel(runs_dir, CodeConsent(outer), load_theme("light"), outer)
    yield made
    made.shutdown()


def look(qtbot, panel: SweepPanel) -> None:
    """Let the panel look at the sweeps on disk, as it does every second while it is seen."""
    reads = panel.findChildren(BackgroundTask)
    panel.look()
    qtbot.waitUntil(lambda: not any(each.busy for each in reads), timeout=PATIENCE_MS)


def start_sweep(qtbot, panel: SweepPanel, file: Path) -> None:
    file.write_text(SIMPLE)
    with qtbot.waitSignal(panel.started, timeout=PATIENCE_MS):
        panel.start(file)


def end_sweep(panel: SweepPanel) -> None:
    """End the command of the sweep started in the panel."""
    panel.findChild(SweepProcess).findChild(CliProcess).answered.emit({})


def test_a_sweep_left_in_the_background_is_shown_and_stopped_by_the_next_window(
    qtbot, left_alone: SweepFolder, window: MainWindow, find: Callable[[str], QWidget]
) -> None:
    qtbot.waitUntil(lambda: find("sweeps_dock").isVisible(), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: find("sweep_combo").currentText() == "tides", timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: find("sweep_stop_button").isEnabled(), timeout=PATIENCE_MS)
    assert find("sweep_continue_button").toolTip().endswith("Not now: it is running")
    find("sweep_stop_button").click()
    qtbot.waitUntil(left_alone.take_stop, timeout=PATIENCE_MS)
    # It was not started here, so closing the window stops nothing and asks nothing.
    assert not window.late.sweeps.busy


def test_a_sweep_that_is_starting_is_stopped_as_soon_as_that_is_possible(
    qtbot, window: MainWindow, runs_dir: Path, tmp_path: Path, monkeypatch, commands
) -> None:
    file = tmp_path / "tides.toml"
    file.write_text(SIMPLE)
    monkeypatch.setattr(CliProcess, "busy", property(lambda _: bool(commands)))
    with qtbot.waitSignal(window.late.sweeps.started, timeout=PATIENCE_MS):
        window.late.sweeps.start(file)
    window.late.sweeps.stop()
    folder = SweepFolder(runs_dir, "tides")
    make_folder(folder.path)
    with RunLock(folder.path):
        qtbot.waitUntil(folder.take_stop, timeout=PATIENCE_MS)
    assert not window.banner.isVisible()
    window.late.sweeps.shutdown()
    commands.clear()  # Else every dialog's process would be busy when the window closes.


def test_closing_during_a_sweep_asks_once_and_keeps_training_by_default(
    qtbot, window: MainWindow, find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands
) -> None:
    file = tmp_path / "tides.toml"
    file.write_text(SIMPLE)
    with qtbot.waitSignal(window.late.sweeps.started, timeout=PATIENCE_MS):
        window.late.sweeps.start(file)
    asked: list[list[str]] = []

    def agree(box: QMessageBox) -> int:
        asked.append([each.text() for each in box.buttons()])
        box.defaultButton().click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", agree)
    window.close()
    assert sorted(asked[0]) == ["Keep training", "Stop and close"]
    assert len(asked) == 1
    assert window.isVisible()
    assert window.late.sweeps.busy
    window.late.sweeps.shutdown()


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_of_a_sweep_is_exported_as_picture_and_table(
    qtbot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: View
) -> None:
    plots = SweepPlots(load_theme("light"))
    qtbot.addWidget(plots)
    plots.resize(400, 250)
    plots.show()
    plots.show_view(view)
    plots.show_importance({"tau": 0.75, "batch_size": 0.25})
    assert not plots.drawn
    plots.show_state(STATE)
    assert plots.drawn
    for kind in ("png", "svg", "csv"):
        target = str(tmp_path / "plot")
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, name=target: (name, ""))
        with qtbot.waitSignal(plots.exported):
            plots.ask_export(kind)
    picture = QImage(str(tmp_path / "plot.png"))
    assert (picture.width(), picture.height()) == (1280, 812)
    svg = (tmp_path / "plot.svg").read_text("utf-8")
    assert f"<title>{VIEWS[view]} · Pendulum-v1 · sweep tides</title>" in svg
    assert b"\r" not in (tmp_path / "plot.csv").read_bytes()
    with (tmp_path / "plot.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    if view is View.IMPORTANCE:
        assert rows == [["setting", "importance"], ["tau", "0.75"], ["batch_size", "0.25"]]
    else:
        assert rows[0] == ["trial", "state", "last_eval", "env_steps", "tau", "batch_size"]
        assert rows[2] == ["1", "done", "-190.0", "100", "0.02", "64"]
        assert rows[4][2] == ""
    refused = []
    plots.export_failed.connect(refused.append)
    plots.export(tmp_path / "no" / "such.png")
    assert "cannot be written" in str(refused[0])


def test_the_menu_of_a_sweeps_plot_offers_what_its_button_does(qtbot) -> None:
    plots = SweepPlots(load_theme("dark"))
    qtbot.addWidget(plots)
    plots.show()
    menu = plots.findChild(QWidget, "sweep_export_menu")
    plots.area.customContextMenuRequested.emit(QPoint(5, 5))
    assert not menu.isVisible()
    plots.show_state(STATE)
    plots.area.customContextMenuRequested.emit(QPoint(5, 5))
    assert [each.text() for each in menu.actions()] == [
        "Export PNG…",
        "Export SVG…",
        "Export CSV…",
    ]
    assert menu.isVisible()
    menu.close()


def test_the_replay_leaves_the_processor_to_a_sweep_of_the_window(
    qtbot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands
) -> None:
    rates: list[bool] = []
    monkeypatch.setattr(window.replay.player, "reduce_rate", rates.append)
    start_sweep(qtbot, window.late.sweeps, tmp_path / "tides.toml")
    assert rates == [True]
    end_sweep(window.late.sweeps)
    assert rates == [True, False]


def test_what_is_asked_of_the_user_or_of_a_sweep_is_said_until_it_is_done(
    qtbot,
    panel: SweepPanel,
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commands,
) -> None:
    status, file = panel.findChild(QLabel, "sweep_status"), tmp_path / "tides.toml"
    for module, stand_in in (
        ("QFileDialog.getSaveFileName", lambda *_: (str(tmp_path / "mine.toml"), "")),
        ("open_path", lambda _: None),
    ):
        monkeypatch.setattr(f"studio.experiments.sweep_panel.{module}", stand_in)
    folder = write_sweep(runs_dir, "tides")

    def looked() -> str:
        look(qtbot, panel)
        return status.text()

    before = looked()
    assert len(panel.table.trials) == len(STATE.trials)
    panel.findChild(QAbstractButton, "sweep_new_button").click()
    edit = "Edit mine.toml, save it, and open it here."
    qtbot.waitUntil(lambda: status.text() == edit, timeout=PATIENCE_MS)
    assert looked() == edit
    with RunLock(folder.path):
        assert looked() == edit
        panel.findChild(QAbstractButton, "sweep_stop_button").click()
        qtbot.waitUntil(folder.take_stop, timeout=PATIENCE_MS)
        assert looked() == "Stopping…"
    assert looked() == before
    start_sweep(qtbot, panel, file)
    assert looked() == "Starting…"
    with RunLock(folder.path):
        assert looked() == before.replace("stopped", "running")
    end_sweep(panel)
    start_sweep(qtbot, panel, file)
    assert looked() == "Starting…"
    end_sweep(panel)
    assert looked() == before


def test_a_sweep_without_a_record_of_its_trials_says_so(
    qtbot, panel: SweepPanel, runs_dir: Path
) -> None:
    status, folder = panel.findChild(QLabel, "sweep_status"), write_sweep(runs_dir, "tides")
    look(qtbot, panel)
    shown = status.text()
    folder.study_file.write_bytes(b"")
    look(qtbot, panel)
    assert status.text() == f"{shown}\n{folder.no_study()}"
    (folder.path / "state.json").unlink()
    look(qtbot, panel)
    assert status.text() == str(folder.no_study())
    with RunLock(folder.path):
        look(qtbot, panel)
        assert status.text() == ""


def test_stop_is_for_the_sweep_that_is_shown(
    qtbot,
    panel: SweepPanel,
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commands,
) -> None:
    stopped: list[str] = []
    monkeypatch.setattr(SweepProcess, "stop", lambda _, name: stopped.append(name))
    button = panel.findChild(QAbstractButton, "sweep_stop_button")
    sweeps = panel.findChild(QComboBox, "sweep_combo")
    tides = write_sweep(runs_dir, "tides")
    look(qtbot, panel)
    assert not button.isEnabled()
    with qtbot.waitSignal(panel.started, timeout=PATIENCE_MS):
        (tmp_path / "ebbs.toml").write_text(SIMPLE)
        panel.start(tmp_path / "ebbs.toml")
        button.click()
    assert stopped == ["ebbs.toml"]
    with RunLock(write_sweep(runs_dir, "ebbs").path):
        look(qtbot, panel)
        assert sweeps.currentText() == "ebbs"
        button.click()
        sweeps.setCurrentText("tides")
        look(qtbot, panel)
        assert button.toolTip().endswith("Not now: it is not running")
        button.click()
        assert stopped == ["ebbs.toml", "ebbs"]
        with RunLock(tides.path):
            look(qtbot, panel)
            button.click()
            sweeps.setCurrentText("ebbs")
            button.click()
    assert stopped == ["ebbs.toml", "ebbs", "tides", "ebbs"]


def test_a_sweep_of_another_process_is_stopped_while_one_is_starting_here(
    qtbot, left_alone: SweepFolder, runs_dir: Path, tmp_path: Path
) -> None:
    outer = QWidget()
    qtbot.addWidget(outer)
    process = SweepProcess(runs_dir, CodeConsent(outer), outer)
    process.name = "starting"
    process.stop("tides")
    qtbot.waitUntil(left_alone.take_stop, timeout=PATIENCE_MS)
    assert process.busy
    process.shutdown()


def test_settings_of_a_trial_that_are_read_while_a_run_starts_are_not_used_and_that_is_said(
    qtbot, tmp_path: Path
) -> None:
    run, outer = make_run(tmp_path), QWidget()
    qtbot.addWidget(outer)
    panel = SweepPanel(tmp_path, CodeConsent(outer), load_theme("light"), outer)
    panel.table.show_state(
        replace(STATE, trials=(replace(STATE.trials[0], runs=(run.path.name,)),))
    )
    panel.choose(0)
    reads = panel.findChildren(BackgroundTask)
    found: list[object] = []
    told: list[str] = []
    panel.settings_chosen.connect(found.append)
    panel.refused.connect(lambda why: told.append(str(why)))
    for training in (True, False):
        panel.findChild(QPushButton, "sweep_use_button").click()
        assert any(each.busy for each in reads)
        panel.set_busy(training)
        qtbot.waitUntil(lambda: not any(each.busy for each in reads), timeout=PATIENCE_MS)
        assert len(found) == (0 if training else 1)
        panel.set_busy(False)
    assert told == ["A run has started meanwhile: nothing was taken from the trial."]
    panel.shutdown()


def test_a_sweep_without_a_state_says_how_to_get_it_back(
    qtbot, panel: SweepPanel, runs_dir: Path
) -> None:
    status, folder = panel.findChild(QLabel, "sweep_status"), write_sweep(runs_dir, "tides")
    (folder.path / "state.json").unlink()
    look(qtbot, panel)
    assert status.text().startswith("The state of the sweep tides cannot be shown: state.json is")
    assert panel.findChild(QPushButton, "sweep_continue_button").isEnabled()
    with RunLock(folder.path):
        look(qtbot, panel)
        assert status.text() == ""
