"""Every control keeps its promise: questions, status, memory, keys."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from studio.app import build_window
from studio.live.live_panel import LivePanel
from studio.run_browser.columns import RunColumn
from studio.session.controller import SessionState
from studio.session.history import read_history
from studio.share.film_dialogs import GrowthFilmDialog
from studio.widgets import messages
from studio.widgets.command_job import CommandJob
from studio.window import docks, main_window, start_request
from td3core.protocol import events
from tests.studio.fake_runs import make_run
from tests.studio.run_browser.runs_list import read_again

pytestmark = pytest.mark.shared_window


def press(monkeypatch, name: str) -> list[QMessageBox]:
    """Answer the next question with the button of this name; return the questions asked."""
    asked: list[QMessageBox] = []

    def answer(box: QMessageBox) -> int:
        asked.append(box)
        next(each for each in box.buttons() if each.objectName() == name).click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", answer)
    return asked


@pytest.mark.parametrize(
    ("name", "warm_up"),
    [
        ("warm_up_question_cancel", 501),
        ("warm_up_question_accept", 501),
        ("warm_up_question_learn", 250),
    ],
)
def test_a_run_that_would_never_learn_is_asked_about(
    window, find, monkeypatch, name: str, warm_up: int
) -> None:
    monkeypatch.setattr(start_request, "choose", messages.choose)
    started = []
    monkeypatch.setattr(window.many, "start", started.append)
    find("env_combo").setCurrentText("Pendulum-v1")
    find("field_learning_starts").setValue(501)
    find("steps_spin").setValue(502)
    window.start_request.start()
    assert len(started) == 1
    asked = press(monkeypatch, name)
    find("steps_spin").setValue(500)
    window.start_request.start()
    assert len(asked) == 1
    assert asked[0].defaultButton().objectName() == "warm_up_question_cancel"
    assert len(started) == (1 if name.endswith("cancel") else 2)
    assert find("field_learning_starts").value() == warm_up
    assert started[-1].config.learning_starts == warm_up


def test_cancelling_the_close_keeps_the_window_though_training_ended_meanwhile(
    window, monkeypatch
) -> None:
    trains = [True]
    monkeypatch.setattr(type(window.many), "busy", property(lambda _: trains[0]))

    def end_and_cancel(*_args, **_more) -> str:
        trains[0] = False
        return "cancel"

    monkeypatch.setattr(main_window, "ask_what_to_do", end_and_cancel)
    assert not window.close()
    assert window.isVisible()


@pytest.fixture
def films(window, runs_dir, monkeypatch) -> GrowthFilmDialog:
    """A dialog whose film is under way, as far as the window knows."""
    dialog = GrowthFilmDialog(make_run(runs_dir).path, "walk", 0, window)
    window.share.tasks.open_dialog(dialog)
    monkeypatch.setattr(CommandJob, "busy", property(lambda job: job is dialog.job))
    return dialog


@pytest.mark.parametrize("trains", [False, True])
def test_closing_names_the_task_that_it_would_end_and_cancelling_keeps_it(
    window, films, monkeypatch, trains: bool
) -> None:
    monkeypatch.setattr(type(window.many), "busy", property(lambda _: trains))
    ended = []
    monkeypatch.setattr(CommandJob, "shutdown", lambda job: ended.append(job))
    asked = press(monkeypatch, "close_question_cancel")
    assert not window.close()
    assert window.isVisible()
    assert films.isVisible()
    assert ended == []
    (box,) = asked
    assert "lost when the window closes: “Growth film”." in box.informativeText()
    assert ("Runs are saved" in box.informativeText()) is trains


@pytest.mark.own_window
def test_a_window_whose_task_may_end_closes(window, films, monkeypatch) -> None:
    ended = []
    monkeypatch.setattr(CommandJob, "shutdown", lambda job: ended.append(job))
    asked = press(monkeypatch, "close_question_stop")
    assert window.close()
    assert ended == [films.job]
    assert len(asked) == 1


def test_closing_names_a_check_under_way(window, monkeypatch) -> None:
    monkeypatch.setattr(type(window.verify), "busy", property(lambda _: True))
    asked = press(monkeypatch, "close_question_cancel")
    assert not window.close()
    assert "“Does this run resume exactly?”" in asked[0].informativeText()


@pytest.mark.slow
def test_no_button_moves_when_another_changes_its_text(window, find) -> None:
    def places():
        QApplication.processEvents()
        return [find(f"{name}_button").geometry() for name in ("stop", "save", "runs", "help")]

    before = places()
    window.toolbar.show_state(SessionState.PAUSED)
    window.switch_theme()
    assert find("pause_button").text() == "Continue"
    assert places() == before


@pytest.mark.slow
def test_what_is_disabled_says_why(window, find) -> None:
    for name in ("pause", "stop", "save", "resume"):
        assert not find(f"{name}_button").isEnabled()
        assert "Not now: no run" in find(f"{name}_button").toolTip()
    window.toolbar.show_state(SessionState.RUNNING)
    assert "Not now: a run is training" in find("train_button").toolTip()
    assert "Not now" not in find("stop_button").toolTip()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_keyboard_focus_can_be_seen(qtbot, window, find, theme: str) -> None:
    if window.theme.name != theme:
        window.switch_theme()
    accent = QColor(window.theme.accent).name()
    for name in ("runs_button", "slider_tau", "undo_button", "plot_return_title"):
        widget = find(name)
        widget.setEnabled(True)

        def edge(widget=widget) -> set[str]:
            seen = widget.grab().toImage()
            return {seen.pixelColor(seen.width() // 2, y).name() for y in (0, 1)}

        window.setFocus()
        assert accent not in edge()
        widget.setFocus()
        window.activateWindow()
        qtbot.waitUntil(lambda widget=widget, edge=edge: accent in edge(), timeout=5_000)


@pytest.mark.slow
def test_entering_the_environment_selects_its_name(qtbot, window, find) -> None:
    editor = find("env_combo").lineEdit()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=5_000)
    qtbot.mouseClick(editor, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: editor.selectedText() == editor.text(), timeout=5_000)


def test_what_was_undone_can_be_redone(qtbot) -> None:
    panel = LivePanel(lambda *_: None)
    qtbot.addWidget(panel)
    panel.findChild(QWidget, "spin_tau").setValue(0.02)
    panel.undo()
    assert panel.tunables().tau == 0.005
    panel.redo()
    assert panel.tunables().tau == 0.02
    assert panel.can_undo
    panel.undo()
    panel.findChild(QWidget, "spin_gamma").setValue(0.9)
    panel.redo()
    assert panel.tunables().tau == 0.005


def test_the_list_of_shortcuts_has_every_key_of_the_window(window) -> None:
    window.toolbar.action("keys").trigger()
    dialog = window.findChild(object, "shortcuts_dialog")
    group = dialog.table.topLevelItem(0)
    keys = {group.child(row).text(0) for row in range(group.childCount())}
    assert {"Ctrl+T", "F1", "Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+/"} <= keys
    dialog.close()


def test_the_first_size_fits_the_screen(window) -> None:
    room = window.screen().availableGeometry().size()
    size = docks.first_size(window.screen())
    assert size.width() <= room.width()
    assert size.height() < room.height()
    assert QSize(1280, 800).boundedTo(room).width() == size.width()


def test_another_algorithm_keeps_all_that_it_does_not_set(window, find) -> None:
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(7_777)
    find("field_eval_interval").setValue(1_234)
    usual = find("field_actor_hidden").text()
    find("variant_combo").setCurrentText("DDPG")
    assert find("steps_spin").value() == 7_777
    assert find("field_eval_interval").value() == 1_234
    assert not find("field_twin_critics").isChecked()
    assert find("field_actor_hidden").text() == "400, 300"
    find("variant_combo").setCurrentIndex(0)
    assert find("field_twin_critics").isChecked()
    assert find("field_actor_hidden").text() == usual
    assert find("field_eval_interval").value() == 1_234
    find("env_combo").setCurrentText("BipedalWalker-v3")
    assert find("steps_spin").value() != 7_777


@pytest.mark.own_window
@pytest.mark.slow
def test_forms_and_open_run_are_back_after_a_restart(qtbot, window, find, tmp_path) -> None:
    run = make_run(tmp_path / "runs", name="kept")
    window.presenter.open_path(run.path)
    qtbot.waitUntil(lambda: window.model.record.run == run.path, timeout=20_000)
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(12_345)
    find("spin_tau").setValue(0.03)
    find("plot_q_title").click()
    window.close()
    again = build_window(tmp_path / "runs")
    again.show()
    qtbot.waitUntil(lambda: again.model.record.run == run.path, timeout=20_000)
    config, tunables = again.setup.settings(again.live.tunables())
    assert (config.env, config.steps, tunables.tau) == ("Pendulum-v1", 12_345, 0.03)
    assert again.plots.large == "plot_q"
    again.close()
    again.deleteLater()


def test_a_request_that_is_refused_marks_no_run_as_failed(qtbot, window, find, runs_dir) -> None:
    run = make_run(runs_dir)
    window.presenter.open_path(run.path)
    qtbot.waitUntil(lambda: window.model.record.run == run.path, timeout=20_000)
    assert "finished" in find("status_state").text()
    window.model.handle(events.Failed(message="There is no such environment.", details=""))
    window.status.show_state(SessionState.IDLE)
    assert "finished" in find("status_state").text()
    assert window.banner.isVisible()
    # A run that starts is not described by the numbers of the current one.
    window.status.show_state(SessionState.STARTING)
    assert find("status_numbers").text() == ""


def test_an_error_leaves_with_the_next_success(window, tmp_path) -> None:
    window.banner.show_message("error", "It cannot be written.")
    window.plots.card("plot_return").exporter.export(tmp_path / "plot.png")
    assert not window.banner.isVisible()
    window.banner.show_message("warning", "The disk is nearly full.")
    window.plots.card("plot_return").exporter.export(tmp_path / "plot.png")
    assert window.banner.isVisible()


@pytest.mark.slow
def test_the_log_follows_the_theme(window) -> None:
    window.log.add("error", "It failed.")
    before = window.theme.bad
    assert before in window.log.document().toHtml()
    window.switch_theme()
    assert before not in window.log.document().toHtml()
    assert window.theme.bad in window.log.document().toHtml()


def test_the_first_click_on_best_puts_the_best_first(qtbot, browser, runs_dir) -> None:
    worse = make_run(runs_dir, seed=1, reached=500)
    better = make_run(runs_dir, seed=2, reached=1000)
    read_again(qtbot, browser)
    header = browser.view.header()
    place = header.sectionViewportPosition(RunColumn.BEST) + 10
    qtbot.mouseClick(
        header.viewport(),
        Qt.MouseButton.LeftButton,
        pos=header.viewport().rect().topLeft() + type(header.viewport().rect().topLeft())(place, 5),
    )
    first = browser.proxy.index(0, 0).data(Qt.ItemDataRole.UserRole)
    assert (first.path, worse.path != better.path) == (better.path.absolute(), True)


@pytest.mark.parametrize("forms", ['{"env": 3, "unknown": true}', "[" * 50_000])
def test_the_settings_file_of_another_version_or_a_damaged_one_is_no_obstacle(
    qtbot, tmp_path, forms
) -> None:
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    settings.setValue("forms", forms)
    settings.setValue("plot_quantities", forms)
    settings.setValue("open_run", "/nowhere")
    settings.sync()
    window = build_window(tmp_path / "runs")
    assert window.setup.environment.env_id == "BipedalWalker-v3"
    window.close()
    window.deleteLater()


@pytest.mark.own_window
@pytest.mark.slow
def test_the_buttons_of_an_empty_window_start_something(window, find, monkeypatch) -> None:
    started, watched = [], []
    monkeypatch.setattr(window.many, "start", started.append)
    window.replay.checkpoints.checkpoint_activated.connect(watched.append)
    find("start_watch_button").click()
    assert watched[0].name == "BipedalWalker-v3.safetensors"
    find("start_train_button").click()
    assert started[0].config.env == "BipedalWalker-v3"
    find("start_runs_button").click()
    assert window.docks.is_seen("runs")


@pytest.mark.own_window
def test_the_first_agent_is_trained_with_its_preset_whatever_the_form_shows(
    window, find, monkeypatch
) -> None:
    started = []
    monkeypatch.setattr(window.many, "start", started.append)
    find("start_train_button").click()
    find("preset_combo").setCurrentText("BipedalWalker-v3-long")
    find("variant_combo").setCurrentText("DDPG")
    find("steps_spin").setValue(77_777)
    find("field_eval_interval").setValue(77)
    find("spin_tau").setValue(0.9)
    find("seeds_edit").setText("3")
    find("start_train_button").click()
    usual, again = started
    assert (again.config, again.tunables, again.seeds) == (usual.config, usual.tunables, ())
    assert usual.config.preset == "BipedalWalker-v3"


@pytest.mark.own_window
def test_an_opened_run_offers_its_first_and_its_last_live_values(
    qtbot, window, find, runs_dir
) -> None:
    run = make_run(
        runs_dir, preset="Pendulum-v1+DDPG", twin_critics=False, policy_noise=0.0, policy_delay=1
    )
    history = read_history(run.path, lambda: False)
    progress = history.record.progress
    history.record.progress = replace(progress, tunables=replace(progress.tunables, tau=0.5))
    window.presenter.open(history)
    assert window.live.tunables().tau == 0.5
    find("live_first_values").click()
    assert window.live.tunables() == run.first_tunables
    find("live_last_values").click()
    assert window.live.tunables().tau == 0.5
    # And it is called what it is.
    assert "DDPG" in find("run_title").text()
    assert "_ddpg_" in run.path.name
