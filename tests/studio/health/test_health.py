"""The window says what is wrong with a run, and tries the change that it advises."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPushButton,
    QTableView,
)

from studio.experiments.paired_test_file import KeptTest
from studio.formatting import format_minutes
from studio.health.board import AdviceBoard
from studio.health.health_panel import HealthPanel
from studio.health.paired_test_dialog import PairedTestDialog
from studio.health.table import HealthColumn
from studio.health.thresholds_dialog import ThresholdsDialog
from studio.session.model import RunModel
from studio.session.record import RunRecord
from studio.tasks.background_task import BackgroundTask
from studio.widgets.number_box import NumberBox, WholeNumberBox
from studio.window.health_advice import speed_of, thresholds_page
from studio.window.main_window import MainWindow
from td3core.analysis.advice import SettingChange, load_rules
from td3core.config import make_settings
from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.paired_tests import PairedTest, PairedTestArm, duration_s
from td3core.protocol.events import Saved
from td3core.runs.directory import RunDirectory
from tests.studio.experiments.test_groups import PlayedGroup, played
from tests.studio.fake_runs import make_run
from tests.studio.launch.test_resume import open_run, train_before
from tests.support.health import progress, row, started
from tests.td3core.analysis.many_runs import write_run
from tests.td3core.helpers import finish

__all__ = ["played"]

CONFIG, TUNABLES = make_settings({"env": "Pendulum-v1", "critic_lr": 0.1})


def break_it(window: MainWindow, first: int = 2_000, rank: float = 0.01) -> None:
    """Report three measurements in which the features of the critics have collapsed."""
    values = {"critic_rank": rank, "q_gap": 1.0, "q1": -3.0, "target": -4.25}
    rows = np.array([row(first + 1_000 * i, **values) for i in range(3)])
    window.model.handle(progress(TUNABLES, rows))


@pytest.fixture
def broken(window: MainWindow) -> MainWindow:
    """The window, with an unhealthy run."""
    window.model.handle(started(CONFIG, TUNABLES))
    break_it(window)
    return window


def open_panel(qtbot, window: MainWindow) -> HealthPanel:
    window.docks.open("health")
    panel = window.panels.named("health")
    assert isinstance(panel, HealthPanel)
    qtbot.waitUntil(panel.isVisible)
    return panel


def texts(panel: HealthPanel) -> str:
    return "\n".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())


def shown(panel: HealthPanel, name: str) -> str:
    """Return the value of a quantity as the table shows it."""
    model = panel.findChild(QTableView, "health_table").model()
    for line in range(model.rowCount()):
        if model.index(line, HealthColumn.NAME).data() == name:
            return str(model.index(line, HealthColumn.VALUE).data())
    raise AssertionError(name)


@pytest.mark.slow
def test_a_badge_counts_what_is_open_until_it_is_dismissed_for_this_run(
    qtbot, broken: MainWindow, find
) -> None:
    window, badge = broken, find("status_advice")
    assert badge.isVisible()
    assert badge.text() == "1 health warning"
    assert window.panels.if_made("health") is None
    qtbot.mouseClick(badge, Qt.MouseButton.LeftButton)
    panel = window.panels.named("health")
    qtbot.waitUntil(panel.isVisible)
    qtbot.waitUntil(lambda: "features have collapsed" in texts(panel))
    assert "Critic learning rate 0.1 → 0.01" in texts(panel)
    assert shown(panel, "Feature rank, Q₁") == "0.01"
    table = panel.findChild(QTableView, "health_table")
    assert table.sizeHintForColumn(HealthColumn.NAME) <= table.columnWidth(HealthColumn.NAME)
    assert shown(panel, "Saturated actions") == "–"
    assert shown(panel, "TD error, mean") == "1.25"
    find("dismiss_rank_collapsed").click()
    assert not badge.isVisible()
    qtbot.waitUntil(lambda: "Nothing is out of order." in texts(panel))
    break_it(window, 5_000)
    assert not badge.isVisible()
    window.model.handle(replace(started(CONFIG, TUNABLES), run=Path("another")))
    break_it(window)
    assert badge.isVisible()


def test_a_threshold_that_the_user_has_changed_counts_from_then_on(
    qtbot, broken: MainWindow, find
) -> None:
    dialog = ThresholdsDialog(broken.health.board, broken)
    qtbot.addWidget(dialog)
    box = dialog.findChild(NumberBox, "threshold_rank_collapsed")
    box.setValue(0.005)
    assert not find("status_advice").isVisible()
    box.setValue(0.5)
    break_it(broken, 5_000, rank=0.4)
    assert find("status_advice").isVisible()
    kind = QDialogButtonBox.StandardButton
    dialog.findChild(QDialogButtonBox).button(kind.RestoreDefaults).click()
    assert broken.health.board.thresholds() == {}
    assert not find("status_advice").isVisible()


def test_the_dialog_of_the_thresholds_is_gone_once_it_is_closed(qtbot, window: MainWindow) -> None:
    for _ in range(2):
        thresholds_page(window.health.board, window).open()
        (dialog,) = window.findChildren(ThresholdsDialog)
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: not window.findChildren(ThresholdsDialog))


def test_damaged_thresholds_among_the_settings_count_as_none_and_stop_no_window(
    qtbot, tmp_path: Path
) -> None:
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    written = ("high", "nan", "-inf", "", "0.25")
    rules = load_rules()[: len(written)]
    for rule, value in zip(rules, written, strict=True):
        settings.setValue(f"health/threshold/{rule.name}", value)
    board = AdviceBoard(RunModel(), settings)
    assert board.thresholds() == {rules[-1].name: 0.25}


@pytest.mark.slow
def test_a_run_of_before_says_that_it_was_not_measured_and_a_closed_panel_reads_nothing(
    qtbot, window: MainWindow, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_run(qtbot, window, make_run(runs_dir))
    panel = open_panel(qtbot, window)
    qtbot.waitUntil(lambda: "did not measure its health" in texts(panel))
    assert shown(panel, "|Q₁ − Q₂|") == "not measured"
    table = panel.findChild(QTableView, "health_table")
    last = table.visualRect(table.model().index(table.model().rowCount() - 1, HealthColumn.VALUE))
    assert last.width() > table.fontMetrics().horizontalAdvance("not measured")
    assert shown(panel, "Critic loss, Q₁") not in ("–", "not measured")
    window.docks.close("health")
    qtbot.waitUntil(lambda: not panel.isVisible())
    monkeypatch.setattr(panel.table, "show", lambda *_: pytest.fail("read while closed"))
    window.model.curves_changed.emit()
    panel.refresh()


def begin_paired_test(qtbot, window: MainWindow, steps: int, pairs: int) -> None:
    open_panel(qtbot, window)
    qtbot.waitUntil(lambda: bool(window.findChild(QPushButton, "try_rank_collapsed")))
    button = window.findChild(QPushButton, "try_rank_collapsed")
    qtbot.waitUntil(button.isEnabled)
    button.click()
    qtbot.waitUntil(lambda: window.findChild(QDialog, "trial_dialog") is not None, timeout=10_000)
    dialog = window.findChild(QDialog, "trial_dialog")
    dialog.findChild(WholeNumberBox, "trial_steps").setValue(steps)
    dialog.findChild(WholeNumberBox, "trial_pairs").setValue(pairs)
    assert f"{2 * pairs} runs of {steps} steps" in dialog.findChild(QLabel, "trial_cost").text()
    dialog.accept()
    qtbot.waitUntil(lambda: window.findChild(QDialog, "trial_dialog") is None)


def open_broken(qtbot, window: MainWindow, runs_dir: Path):
    """Show a finished unhealthy run, with a checkpoint to branch from."""
    run = train_before(runs_dir, steps=1500, checkpoint_interval=500, stop_at=10**9)
    open_run(qtbot, window, run)
    break_it(window, 3_000)
    return run


@pytest.mark.slow
def test_a_paired_test_waits_for_a_core_and_ends_in_a_sentence_and_is_accepted_as_a_branch(
    qtbot, window: MainWindow, find, played: type[PlayedGroup], runs_dir: Path, monkeypatch
) -> None:
    open_broken(qtbot, window, runs_dir)
    paired_tests = window.health.paired_tests
    cores = [0]
    monkeypatch.setattr(type(paired_tests), "free_cores", property(lambda _: cores[0]))
    begin_paired_test(qtbot, window, 200, 2)
    qtbot.waitUntil(lambda: "Waiting for a free core" in find("trial_text").text())
    assert not paired_tests.trains
    cores[0] = 2
    paired_tests.begin_if_free()
    for arm, value in enumerate((50.0, 20.0)):
        qtbot.waitUntil(lambda arm=arm: paired_tests.trains and len(paired_tests.runs) == arm)
        group = played.last
        seeds = group.group.seeds
        for seed in seeds:
            path = write_run(
                runs_dir, [0.0, value + seed], seed=seed, group=group.group.name, tau=value / 100
            )
            group.show(seed, SeedState.FINISHED, run=path)
        group.end()
    qtbot.waitUntil(lambda: not paired_tests.busy)
    said = find("trial_text").text()
    assert said == "After 200 steps 30 [30, 30] better, 2 of 2 pairs."
    qtbot.waitUntil(lambda: window.comparison.session.active)
    wanted = []
    monkeypatch.setattr(window.many, "start", wanted.append)
    find("trial_accept").click()
    qtbot.waitUntil(lambda: bool(wanted))
    assert wanted[0].tunables.critic_lr == 0.01
    assert wanted[0].checkpoint.name == "last.safetensors"


def test_the_dialog_of_a_paired_test_says_how_long_it_takes(qtbot) -> None:
    change = SettingChange(setting="critic_lr", old=0.1, new=0.01)
    dialog = PairedTestDialog(change, 500, 100_000, steps_per_s=50.0, free_cores=2)
    qtbot.addWidget(dialog)
    duration = duration_s(dialog.steps.value(), dialog.pairs.value(), steps_per_s=50.0, jobs=2)
    assert dialog.cost.text().endswith(f": {format_minutes(duration)}")
    unknown = PairedTestDialog(change, 500, 100_000, steps_per_s=None, free_cores=2)
    qtbot.addWidget(unknown)
    assert unknown.cost.text() == "6 runs of 10,000 steps"


@pytest.mark.release
def test_an_advice_is_tried_through_the_window_to_its_verdict(
    qtbot, window: MainWindow, find, runs_dir: Path
) -> None:
    run = open_broken(qtbot, window, runs_dir)
    begin_paired_test(qtbot, window, 200, 2)
    paired_tests = window.health.paired_tests
    qtbot.waitUntil(lambda: paired_tests.verdict is not None, timeout=240_000)
    assert paired_tests.verdict is not None
    assert len(paired_tests.verdict.differences) == 2
    assert find("trial_text").text().startswith("After 200 steps ")
    made = [path for runs in paired_tests.runs for path in runs.values()]
    assert len({*made}) == 4
    assert all(run.path.name in (path / "run.toml").read_text() for path in made)
    qtbot.waitUntil(lambda: not window.comparison.session.busy, timeout=20_000)


@pytest.mark.slow
def test_a_paired_test_is_named_after_the_run_of_its_advice_though_another_one_begins(
    qtbot, window: MainWindow, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[KeptTest] = []
    monkeypatch.setattr(window.health.paired_tests, "start", tried.append)
    run = finish(runs_dir, "Pendulum-v1", steps=60).run
    open_run(qtbot, window, RunDirectory.open(run))
    break_it(window)
    title = window.model.record.title
    window.health.ask(window.health.board.advice[0])
    qtbot.waitUntil(lambda: window.findChild(QDialog, "trial_dialog") is not None, timeout=20_000)
    window.model.handle(replace(started(CONFIG, TUNABLES), run=Path("another")))
    window.findChild(QDialog, "trial_dialog").accept()
    qtbot.waitUntil(lambda: bool(tried), timeout=20_000)
    assert tried[0].series.endswith(f" · {title}")
    assert tried[0].run == run


@pytest.mark.slow
def test_a_change_is_tried_from_the_newest_agent_not_from_the_best(
    qtbot, window: MainWindow, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[KeptTest] = []
    monkeypatch.setattr(window.health.paired_tests, "start", tried.append)
    run = RunDirectory.open(finish(runs_dir, "Pendulum-v1", steps=60, checkpoint_interval=20).run)
    newest = run.step_files()[-1]
    shutil.copy(run.step_files()[0], run.best)
    run.last.unlink()
    open_run(qtbot, window, run)
    break_it(window)
    window.health.ask(window.health.board.advice[0])
    qtbot.waitUntil(lambda: window.findChild(QDialog, "trial_dialog") is not None, timeout=20_000)
    window.findChild(QDialog, "trial_dialog").accept()
    qtbot.waitUntil(lambda: bool(tried), timeout=20_000)
    assert tried[0].test.checkpoint == newest


def test_the_speed_of_an_ended_branch_is_that_of_its_own_steps() -> None:
    record = RunRecord()
    record.take(started(CONFIG, TUNABLES, env_steps=100_000))
    assert speed_of(record) is None
    for step, seconds in ((101_000, 10.0), (102_000, 20.0)):
        report = progress(TUNABLES, row(step)[None])
        times = np.array([(step, seconds)])
        record.take(replace(report, wall_s=seconds, training_times=times, steps_per_s=0.0))
    assert speed_of(record) == 100.0


def test_a_paired_test_is_planned_from_no_save_of_another_run(qtbot, broken: MainWindow) -> None:
    health = broken.health
    (reader,) = health.findChildren(
        BackgroundTask, options=Qt.FindChildOption.FindDirectChildrenOnly
    )
    saved = Saved(env_steps=10, path=Path("another/checkpoints/last.safetensors"))
    for own in (False, True):
        health.ask(health.board.advice[0])
        if not own:
            broken.model.handle(replace(started(CONFIG, TUNABLES), run=Path("another")))
        broken.model.handle(saved)
        assert reader.busy is own
        break_it(broken)
    reader.cancel()


@pytest.fixture
def tried(broken: MainWindow, monkeypatch: pytest.MonkeyPatch) -> KeptTest:
    """A paired test of another critic learning rate that is over; its run still trains."""
    arms = [
        PairedTestArm(config=CONFIG, tunables=replace(TUNABLES, critic_lr=rate))
        for rate in (0.01, 0.1)
    ]
    test = PairedTest(
        checkpoint=Path("last.safetensors"),
        values={"critic_lr": 0.01},
        steps=100,
        seeds=(0,),
        with_change=arms[0],
        without=arms[1],
    )
    kept = KeptTest(test=test, run=Path("run"), series="")
    monkeypatch.setattr(type(broken.controller), "busy", property(lambda _: True))
    broken.health.paired_tests.kept = kept
    return kept


def test_a_change_is_accepted_in_the_run_that_trains(
    broken: MainWindow, tried: KeptTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(broken.live, "apply", asked.append)
    broken.health.accept()
    assert [each.critic_lr for each in asked] == [0.01]
    assert broken.health.paired_tests.kept is None
    monkeypatch.undo()


def test_a_verdict_is_kept_where_its_change_cannot_be_made(
    qtbot, broken: MainWindow, find, tried: KeptTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = find("spin_tau")
    box.lineEdit().setText("abc")
    broken.health.accept()
    assert "abc is not a number" in broken.banner.text
    assert broken.health.paired_tests.kept is tried
    box.setValue(0.005)
    # Without a run that trains it would be a branch, of a checkpoint that there is not.
    monkeypatch.undo()
    broken.banner.hide()
    broken.health.accept()
    qtbot.waitUntil(broken.banner.isVisible)
    assert broken.health.paired_tests.kept is tried
