"""The panel of sweeps: it shows, starts, stops and continues them, and hands settings over."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QWidget

from studio.experiments.sweep_plots import VIEWS, View
from studio.formatting import format_return
from studio.share.report_dialog import ReportDialog
from studio.window.main_window import MainWindow
from td3core.experiments.sweeps.folder import SweepFolder, SweepState, TrialState
from td3core.protocol.trial_status import TrialStatus
from td3core.runs.directory import RunDirectory
from td3core.system.files import make_folder
from tests.studio.disk_guard import DiskGuard
from tests.studio.window.test_main_job import ASKED
from tests.td3core.experiments.sweeps.scripted_runs import ScriptedExecutor, conduct

pytestmark = pytest.mark.slow

PATIENCE_MS = 60_000
SMALL = """
name = "small"
environment = "Pendulum-v1"
trials = 30
steps = 800
jobs = 1
[settings]
learning_starts = 200
eval_interval = 400
eval_episodes = 1
batch_size = 32
actor_hidden = [8]
critic_hidden = [8]
[space]
tau = { low = 0.001, high = 0.1, log = true }
"""

Find = Callable[[str], QWidget]


def rising(run: RunDirectory) -> Sequence[float]:
    return [-1.0, -abs(run.first_tunables.tau - 0.3)]


@pytest.fixture
def swept(tmp_path: Path) -> SweepState:
    """Conduct a sweep of three trials in the window's runs folder."""
    state, _ = conduct(tmp_path / "runs", ScriptedExecutor(rising), trials=3)
    return state


@pytest.fixture
def shown(qtbot, swept: SweepState, window: MainWindow) -> MainWindow:
    """Open the panel on that sweep."""
    window.docks.open("sweeps")
    qtbot.waitUntil(lambda: len(window.late.sweeps.table.trials) == 3, timeout=PATIENCE_MS)
    return window


def texts(window: MainWindow, row: int) -> list[str]:
    table = window.late.sweeps.table
    return [str(table.index(row, column).data()) for column in range(table.columnCount())]


def test_the_panel_shows_the_trials_of_a_sweep(
    shown: MainWindow, swept: SweepState, find: Find
) -> None:
    best = swept.best
    assert best is not None
    assert texts(shown, best.number)[:2] == [str(best.number), "done, best"]
    assert texts(shown, best.number)[2] == format_return(best.value)
    assert f"best {format_return(best.value)} in trial {best.number}" in find("sweep_status").text()
    assert find("sweep_combo").currentText() == "scripted"
    assert find("sweep_continue_button").isEnabled()
    assert not find("sweep_stop_button").isEnabled()


@pytest.mark.parametrize(
    "view", [View.BEST, *(pytest.param(v, marks=pytest.mark.slow) for v in list(View)[1:])]
)
def test_every_view_is_drawn_in_both_themes(
    shown: MainWindow, swept: SweepState, find: Find, view: View
) -> None:
    find("sweep_view_combo").setCurrentText(str(VIEWS[view]))
    shown.late.sweeps.plots.show_importance({"tau": 0.75, "gamma": 0.25})
    before = find("sweep_plots").grab().toImage()
    shown.switch_theme()
    assert find("sweep_plots").grab().toImage() != before
    shown.late.sweeps.shutdown()


def test_importance_says_why_no_process_could_be_started_to_compute_it(
    qtbot, shown: MainWindow, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.tasks.cli_process.command_line", lambda _: ("/no/such/program",))
    find("sweep_view_combo").setCurrentText(str(VIEWS[View.IMPORTANCE]))
    note = shown.late.sweeps.plots.findChild(QLabel, "sweep_note")
    qtbot.waitUntil(lambda: note.text().startswith("No process could be started: "))


def test_a_trial_hands_its_settings_to_the_forms(
    qtbot, shown: MainWindow, swept: SweepState, find: Find
) -> None:
    assert not find("sweep_use_button").isEnabled()
    shown.late.sweeps.choose(1)
    with qtbot.waitSignal(shown.late.sweeps.settings_chosen, timeout=PATIENCE_MS):
        qtbot.mouseClick(find("sweep_use_button"), Qt.MouseButton.LeftButton)
    assert find("spin_tau").value() == pytest.approx(swept.trials[1].settings["tau"], abs=1e-4)
    assert find("steps_spin").value() == 4000


def test_a_trial_opens_its_run(qtbot, shown: MainWindow, swept: SweepState, find: Find) -> None:
    shown.late.sweeps.choose(2)
    with qtbot.waitSignal(shown.model.run_opened, timeout=PATIENCE_MS):
        qtbot.mouseClick(find("sweep_open_run_button"), Qt.MouseButton.LeftButton)
    assert shown.model.record.run is not None
    assert shown.model.record.run.name == swept.trials[2].runs[0]


def test_a_sweep_is_reported_with_its_trials(qtbot, shown: MainWindow, swept: SweepState) -> None:
    action = shown.late.sweeps.findChild(QAction, "sweep_report_action")
    assert action is not None
    action.trigger()
    qtbot.waitUntil(lambda: bool(shown.findChildren(ReportDialog)), timeout=PATIENCE_MS)
    (dialog,) = shown.findChildren(ReportDialog)
    assert dialog.subject.sources == (swept.name,)
    assert dialog.subject.options == ("--runs-dir", str(shown.runs_dir))
    dialog.close()


def test_the_window_reads_no_sweep_in_its_own_thread(
    qtbot, swept: SweepState, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = DiskGuard(tmp_path / "runs", monkeypatch)
    guard.watch()
    window.docks.open("sweeps")
    qtbot.waitUntil(lambda: len(window.late.sweeps.table.trials) == 3, timeout=PATIENCE_MS)
    assert guard.found == []


def test_a_file_with_a_mistake_is_refused_in_the_banner(
    qtbot, window: MainWindow, find: Find, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("environment = 'Pendulum-v1'\nspace = {}\n")
    with qtbot.waitSignal(window.late.sweeps.refused, timeout=PATIENCE_MS):
        window.late.sweeps.start(file)
    assert "space has 0 settings" in window.banner.text
    assert not window.late.sweeps.busy


def test_the_trials_shown_stay_when_another_sweep_is_refused(
    qtbot, shown: MainWindow, find: Find, tmp_path: Path
) -> None:
    panel = shown.late.sweeps
    file = tmp_path / "small.toml"
    file.write_text(SMALL.replace("Pendulum-v1", "NoSuchEnvironment-v1"))
    with qtbot.waitSignal(panel.ended, timeout=PATIENCE_MS):
        panel.start(file)
    assert "NoSuchEnvironment-v1" in shown.banner.text
    # Also after the next looks.
    for _ in range(3):
        qtbot.waitUntil(lambda: not panel._look.busy, timeout=PATIENCE_MS)
        panel.look()
        qtbot.waitUntil(lambda: not panel._look.busy, timeout=PATIENCE_MS)
        assert find("sweep_combo").currentText() == "scripted"
        assert len(panel.table.trials) == 3
        assert "best" in find("sweep_status").text()


@pytest.mark.slow
def test_a_sweep_runs_in_the_background_and_closing_the_window_stops_it(
    qtbot, window: MainWindow, find: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    window.docks.open("sweeps")
    window.late.sweeps.start(file)
    qtbot.waitUntil(lambda: bool(window.late.sweeps.table.trials), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: find("sweep_stop_button").isEnabled(), timeout=PATIENCE_MS)
    assert not find("sweep_open_button").isEnabled()
    asked: list[bool] = []

    def answer(_: QWidget, *, can_leave: bool, tasks: list[str]) -> str:
        assert not tasks
        asked.append(can_leave)
        return "stop"

    monkeypatch.setattr(ASKED, answer)
    with qtbot.waitSignal(window.closed, timeout=PATIENCE_MS):
        window.close()
    assert asked == [False]
    state = SweepFolder(tmp_path / "runs", "small").read_state()
    assert state is not None
    assert not state.running
    assert state.count(TrialStatus.FAILED) == 0


def test_a_thousand_trials_are_drawn_with_a_few_lines(
    qtbot, window: MainWindow, find: Find, tmp_path: Path
) -> None:
    trials = tuple(
        TrialState(number=n, state=TrialStatus.DONE, settings={"tau": n / 1000}, value=float(n % 7))
        for n in range(1000)
    )
    space = {"tau": {"low": 0.0, "high": 1.0, "log": False, "whole": False}}
    make_folder(tmp_path / "runs" / "sweeps" / "many")
    folder = SweepFolder(tmp_path / "runs", "many")
    (folder.path / "sweep.toml").write_text("")
    folder.write_state(
        SweepState(
            name="many",
            environment="Pendulum-v1",
            objective="area",
            path=str(folder.path),
            wanted=1000,
            trials=trials,
            space=space,
        )
    )
    window.docks.open("sweeps")
    qtbot.waitUntil(lambda: len(window.late.sweeps.table.trials) == 1000, timeout=PATIENCE_MS)
    find("sweep_view_combo").setCurrentText("Parallel coordinates")
    plot = window.late.sweeps.plots.area.getItem(0, 0)
    assert len(plot.listDataItems()) < 20
