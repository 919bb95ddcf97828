"""Output from the window: films, pictures, evaluations and exports, as the commands make them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QDesktopServices, QImage
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.formatting import plain_minus
from studio.replay.pane import ReplayPane
from studio.replay.player import UNPACED
from studio.session.agents import SavedAgents
from studio.share.evaluate_dialog import EvaluateDialog
from studio.share.export_dialog import ExportDialog
from studio.share.film_dialogs import AgentFilmDialog, ComparisonFilmDialog, GrowthFilmDialog
from studio.share.menu import ShareButton
from studio.share.picture_dialog import PictureDialog
from studio.share.task_dialog import TaskDialog
from td3core import checkpoint
from td3core.cli import app
from td3core.cli.progress_line import CommandProgress
from td3core.envs.make import check_env
from td3core.errors import RequestError
from td3core.exporters.registry import EXPORTERS
from td3core.playing.compared import ComparedAgent
from td3core.playing.disturbance import Variant
from td3core.runs.layout import BEST, LAST
from td3core.text import SettingName
from tests.studio.replay.scenes import PENDULUM, WAIT_MS, load, played, renderers, write_agent

D = TypeVar("D", bound=TaskDialog)
_CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def shown(qtbot: QtBot, pane: ReplayPane, agent: Path) -> ReplayPane:
    """A pane that shows the first frame of a pendulum."""
    load(qtbot, pane.player, agent)
    return pane


def saved_agents(run: Path, *paths: Path) -> SavedAgents:
    stamps = dict.fromkeys(paths, (0, 0))
    return SavedAgents(run=run, stamps=stamps, means={}, favourite=None, run_bytes=0)


def answer_with(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Let the user choose this file."""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))


def opened(share: ShareButton, name: str, kind: type[D]) -> D:
    """Choose an entry of the menu and return the dialog it opens."""
    action = share.findChild(QAction, f"share_{name}_action")
    assert action is not None
    assert action.isEnabled()
    action.trigger()
    (dialog,) = share.window().findChildren(kind)
    return dialog


def answer(qtbot: QtBot, dialog: TaskDialog) -> dict[str, Any]:
    with qtbot.waitSignal(dialog.job.answered, timeout=2 * WAIT_MS) as answered:
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert dialog.start_button.isEnabled()
    assert not dialog.job.bar.isVisible()
    found: dict[str, Any] = answered.args[0]
    return found


def status(dialog: TaskDialog) -> str:
    label = dialog.job.findChild(QLabel)
    assert label is not None
    return label.text().replace("\u200b", "")


def test_nothing_is_offered_without_an_agent(share: ShareButton) -> None:
    actions = share.share_menu.actions()
    assert len(actions) == 5
    assert all(action.shortcut().toString() for action in actions)
    assert {action.isEnabled() for action in actions} == {False}
    assert all(each.toolTip().endswith(". Not now: choose an agent first") for each in actions)


def test_no_picture_is_offered_where_nothing_can_be_drawn(
    qtbot: QtBot, pane: ReplayPane, share: ShareButton, staged: Callable[[str], Path]
) -> None:
    load(qtbot, pane.player, staged("Mute-v0"))
    picture = share.findChild(QAction, "share_picture_action")
    assert picture is not None
    assert picture.toolTip().endswith("Not now: there is no picture")


def test_an_agent_that_its_file_no_longer_holds_is_not_taken_from_it(
    qtbot: QtBot, shown: ReplayPane, share: ShareButton, agent: Path
) -> None:
    dialog = opened(share, "evaluate", EvaluateDialog)
    write_agent(agent, check_env(PENDULUM), 60_000)
    qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert status(dialog) == "agent.safetensors no longer holds the agent that was shown."
    assert not dialog.job.busy
    shown.tracker.note_saved(agent, 60_000)
    actions = {each.objectName(): each for each in share.share_menu.actions()}
    for name in ("film", "evaluate", "export"):
        action = actions[f"share_{name}_action"]
        assert not action.isEnabled()
        assert "Not now: its file no longer holds this agent" in action.toolTip()
    assert actions["share_picture_action"].isEnabled()
    load(qtbot, shown.player, agent)
    assert actions["share_evaluate_action"].isEnabled()


def test_a_refusal_names_a_setting_as_the_forms_do(
    qtbot: QtBot, shown: ReplayPane, share: ShareButton, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = opened(share, "evaluate", EvaluateDialog)

    def refuse() -> None:
        raise RequestError("{setting} cannot be 7.", setting=SettingName("tau"))

    monkeypatch.setattr(dialog, "words", refuse)
    qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert status(dialog) == "Target averaging cannot be 7."


def test_no_growth_is_filmed_of_a_run_whose_checkpoints_were_all_deleted(
    qtbot: QtBot, pane: ReplayPane, share: ShareButton, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    best, last = (run / "checkpoints" / name for name in (BEST, LAST))
    best.parent.mkdir(parents=True)
    for path in (best, last):
        write_agent(path, check_env(PENDULUM), 10)
    load(qtbot, pane.player, best)
    pane.tracker.set_run(run, saved_agents(run, best, last))
    growth = share.findChild(QAction, "share_growth_action")
    assert growth is not None
    # One checkpoint fewer leaves the others to be filmed.
    for left in ((best, last), (last,)):
        pane.tracker.note_listed(saved_agents(run, *left))
        assert growth.isEnabled()
    pane.tracker.note_listed(saved_agents(run))
    assert not growth.isEnabled()
    assert "Not now: its run has no checkpoints any more" in growth.toolTip()


@pytest.mark.slow
def test_a_film_shows_the_episode_of_the_shown_seed_at_the_shown_speed(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer_with(monkeypatch, tmp_path / "walk")
    shown.player.start_over(4)
    shown.player.set_speed(4.0)
    notes: list[tuple[str, ...]] = []
    share.tasks.began.connect(lambda name: notes.append((name,)))
    share.tasks.ended.connect(lambda *words: notes.append(words))
    dialog = opened(share, "film", AgentFilmDialog)
    progress: list[CommandProgress] = []
    dialog.job.command.progressed.connect(progress.append)
    told = answer(qtbot, dialog)
    assert any(each.share is not None and "Episode 1" in str(each.message) for each in progress)
    with av.open(str(tmp_path / "walk.mp4")) as film:
        frames = sum(1 for _ in film.decode(video=0))
        assert film.duration is not None
        # 200 steps at 30 a second, four times as fast; every second one, for 60 a second.
        assert (frames, film.duration / av.time_base) == (100, pytest.approx(200 / 120))
    assert (told["seed"], told["frames"], told["lengths"]) == (4, 100, [200])
    target = tmp_path / "walk.mp4"
    assert status(dialog) == f"Written to {target}: 1.7 s, 100 frames, 500×500 pixels."
    folders: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: folders.append(url.toLocalFile()))
    folder_button = dialog.findChild(QPushButton, "film_folder_button")
    assert folder_button is not None
    qtbot.mouseClick(folder_button, Qt.MouseButton.LeftButton)
    assert folders == [str(tmp_path)]
    told_of = [tuple(map(str, each)) for each in notes]
    assert told_of == [("film_dialog",), ("film_dialog", "Record film is done", status(dialog))]
    growth = share.findChild(QAction, "share_growth_action")
    assert growth is not None
    assert "Not now: this agent belongs to no run" in growth.toolTip()


@pytest.mark.release
def test_a_film_with_instruments_shows_the_same_episode_above_its_numbers(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frames = dict[bool, NDArray[np.uint8]]()
    dialog = opened(share, "film", AgentFilmDialog)
    for instruments in (False, True):
        answer_with(monkeypatch, tmp_path / f"{instruments}.mp4")
        dialog.instruments.setChecked(instruments)
        told = answer(qtbot, dialog)
        assert told["lengths"] == [200]
        with av.open(str(tmp_path / f"{instruments}.mp4")) as film:
            frames[instruments] = [f.to_ndarray(format="rgb24") for f in film.decode(video=0)][99]
    assert (frames[False].shape, frames[True].shape) == ((500, 500, 3), (794, 560, 3))
    scaled = Image.fromarray(frames[False]).resize((560, 560), Image.Resampling.BILINEAR)
    assert np.abs(np.asarray(scaled).astype(int) - frames[True][:560]).mean() < 2


@pytest.mark.parametrize("end", ["cancel", "escape"])
@pytest.mark.slow
def test_a_film_that_is_ended_ends_its_process_and_leaves_no_file(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
) -> None:
    before, processes = set(tmp_path.iterdir()), len(renderers())
    answer_with(monkeypatch, tmp_path / "long.mp4")
    dialog = opened(share, "film", AgentFilmDialog)
    dialog.episodes.setValue(1000)
    qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert dialog.job.busy
    half = tmp_path / ".long.mp4.part"
    qtbot.waitUntil(half.exists, timeout=2 * WAIT_MS)
    if end == "cancel":
        qtbot.mouseClick(dialog.cancel_button, Qt.MouseButton.LeftButton)
        assert status(dialog) == "Cancelled."
    else:
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: share.tasks.dialogs == [], timeout=WAIT_MS)
    qtbot.waitUntil(lambda: set(tmp_path.iterdir()) == before, timeout=WAIT_MS)
    assert len(renderers()) == processes


@pytest.mark.slow
def test_a_hub_export_that_is_cancelled_leaves_no_folder(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = set(tmp_path.iterdir())
    answer_with(monkeypatch, tmp_path / "mine")
    dialog = opened(share, "export", ExportDialog)
    dialog.formats.setCurrentIndex([each.name for each in EXPORTERS].index("hub"))
    qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    half = tmp_path / ".mine.hub.part"
    qtbot.waitUntil(half.is_dir, timeout=2 * WAIT_MS)
    qtbot.mouseClick(dialog.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: set(tmp_path.iterdir()) == before, timeout=WAIT_MS)


@pytest.mark.slow
def test_an_evaluation_gives_the_numbers_of_the_command(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    agent: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown.player.start_over(9)
    dialog = opened(share, "evaluate", EvaluateDialog)
    dialog.episodes.setValue(3)
    answer(qtbot, dialog)
    assert app.main(["eval", str(agent), "--episodes", "3", "--seed", "9", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    returns = told["returns"]
    assert plain_minus(status(dialog)) == (
        f"Return {told['mean']:,.1f} ± {told['std']:,.1f} over 3 episodes,"
        f" lowest {min(returns):,.1f}, highest {max(returns):,.1f}."
    )
    text = dialog.findChild(QPlainTextEdit)
    assert text is not None
    assert [float(line) for line in text.toPlainText().splitlines()] == pytest.approx(returns)
    (bars,) = dialog.histogram.plot.getPlotItem().items
    assert sum(bars.opts["height"]) == 3


def saved(
    qtbot: QtBot, dialog: PictureDialog, target: Path, monkeypatch: pytest.MonkeyPatch
) -> QImage:
    """Save the picture and return the file's."""
    answer_with(monkeypatch, target)
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(dialog.folder_button.isEnabled, timeout=WAIT_MS)
    image = QImage(str(target))
    said = dialog.status.text().replace("\u200b", "")
    assert said == f"Written to {target}, {image.width()}×{image.height()} pixels."
    return image.convertToFormat(QImage.Format.Format_RGB32)


def test_a_picture_is_saved_alone_in_the_size_of_the_environment_or_as_it_is_on_show(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    opened: list[QWidget],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel = QWidget(shown)
    panel.resize(600, 120)
    panel.show()
    opened.append(panel)
    with qtbot.waitSignal(shown.player.captured, timeout=WAIT_MS) as captured:
        qtbot.keyClick(shown, Qt.Key.Key_P, _CTRL_SHIFT)
    drawn = captured.args[0].convertToFormat(QImage.Format.Format_RGB32)
    (dialog,) = shown.window().findChildren(PictureDialog)
    assert dialog.captions.isChecked()
    assert dialog.instruments.isChecked()
    everything = saved(qtbot, dialog, tmp_path / "all.png", monkeypatch)
    dialog.instruments.click()
    captioned = saved(qtbot, dialog, tmp_path / "captions.png", monkeypatch)
    dialog.captions.click()
    alone = saved(qtbot, dialog, tmp_path / "alone.png", monkeypatch)
    assert shown.view.image is not None
    assert shown.view.image.width() < 500
    assert alone == drawn
    assert (alone.width(), alone.height()) == (500, 500)
    assert captioned.copy(0, 0, 500, 500) == drawn
    strip = captioned.copy(0, 500, 500, captioned.height() - 500)
    assert 20 < strip.height() < 50
    assert len(set(bytes(strip.constBits()))) > 10, "there is text"
    ratio = round(shown.devicePixelRatioF())
    assert (everything.width(), everything.height()) == (
        600 * ratio,
        captioned.height() + 4 + 120 * ratio,
    )


def test_the_picture_of_a_comparison_has_all_agents_with_their_names(
    qtbot: QtBot, shown: ReplayPane, share: ShareButton, agent: Path
) -> None:
    compared = [
        ComparedAgent(agent),
        ComparedAgent(agent, Variant.NOISE),
        ComparedAgent(agent, Variant.PUSH),
    ]
    with qtbot.waitSignals([shown.player.loaded, shown.player.frame_ready], timeout=WAIT_MS):
        shown.comparison.compare(compared)
    with qtbot.waitSignal(shown.player.captured, timeout=WAIT_MS):
        share.tasks.picture()
    (dialog,) = shown.window().findChildren(PictureDialog)
    columns = shown.comparison.view.columns
    assert not dialog.instruments.isEnabled()
    captioned = dialog.composed()
    dialog.captions.click()
    alone = dialog.composed()
    rows = -(-3 // columns)
    assert (alone.width(), alone.height()) == (504 * columns - 4, 504 * rows - 4)
    assert captioned.height() > alone.height() + 20 * rows
    assert list(dialog.screenshot.names) == [
        "step 50,000",
        "step 50,000 · noise σ 0.1",
        "step 50,000 · pushed",
    ]


def expect_all_lines(qtbot: QtBot, label: QLabel) -> None:
    """Wait until a label has room for its lines, of which it has several."""
    qtbot.waitUntil(
        lambda: label.height() >= label.heightForWidth(label.width()) > 20, timeout=WAIT_MS
    )


def export_dialog(
    share: ShareButton, target: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[ExportDialog, QComboBox]:
    """Open the dialog that exports to ``target``; return it and its choice of a format."""
    answer_with(monkeypatch, target)
    dialog = opened(share, "export", ExportDialog)
    combo = dialog.findChild(QComboBox)
    assert combo is not None
    return dialog, combo


def test_an_actor_is_exported_as_weights_or_in_another_format_of_the_registry(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialog, combo = export_dialog(share, tmp_path / "actor", monkeypatch)
    shown_formats = [combo.itemText(at) for at in range(combo.count())]
    assert shown_formats[:2] == ["Weights (.safetensors)", "Video (.mp4, .gif, .webp)"]
    assert shown_formats[2:5] == ["NumPy (.py)", "C header (.h)", "ONNX (.onnx)"]
    assert shown_formats[5:] == ["stable-baselines3 (.zip)", "Hub folder (.hub)"]
    answer(qtbot, dialog)
    assert status(dialog) == f"Written to {tmp_path / 'actor.safetensors'}: weights."
    assert checkpoint.read_header(tmp_path / "actor.safetensors").env.env_id == "Pendulum-v1"
    combo.setCurrentText("stable-baselines3 (.zip)")
    expect_all_lines(qtbot, dialog.explanation)


@pytest.mark.slow
def test_every_line_of_what_an_export_says_can_be_read(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialog, combo = export_dialog(share, tmp_path / "actor", monkeypatch)
    combo.setCurrentText("NumPy (.py)")
    answer(qtbot, dialog)
    assert status(dialog).startswith(f"Written to {tmp_path / 'actor.py'}: largest error ")
    expect_all_lines(qtbot, dialog.job.status)


@pytest.mark.slow
def test_a_task_that_is_refused_gives_its_sentence(
    qtbot: QtBot,
    shown: ReplayPane,
    share: ShareButton,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer_with(monkeypatch, tmp_path / "a.mp4")
    share.tasks.open_dialog(GrowthFilmDialog(tmp_path / "no run", "no run", 0, shown.window()))
    (dialog,) = shown.window().findChildren(GrowthFilmDialog)
    with qtbot.waitSignal(dialog.job.busy_changed, timeout=WAIT_MS):
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.job.busy, timeout=2 * WAIT_MS)
    assert "no run" in status(dialog)
    dialog.close()
    qtbot.waitUntil(lambda: not shown.window().findChildren(GrowthFilmDialog), timeout=WAIT_MS)
    assert share.tasks.dialogs == []


def film_dialog(
    qtbot: QtBot,
    pane: ReplayPane,
    share: ShareButton,
    agent: Path,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> ComparisonFilmDialog:
    """Compare an agent with its variants, push it, and choose to film the comparison."""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    compared = [
        ComparedAgent(agent),
        ComparedAgent(agent, Variant.NOISE),
        ComparedAgent(agent, Variant.PUSH),
    ]
    with qtbot.waitSignals([pane.player.loaded, pane.player.frame_ready], timeout=WAIT_MS):
        pane.comparison.compare(compared)
    qtbot.mouseClick(pane.comparison.view.push_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: pane.player.pushes == (61, 1), timeout=WAIT_MS)
    action = share.findChild(QAction, "share_film_action")
    assert action is not None
    action.trigger()
    (dialog,) = pane.window().findChildren(ComparisonFilmDialog)
    return dialog


def test_the_film_of_the_comparison_is_asked_for_as_it_is_on_show(
    qtbot: QtBot,
    pane: ReplayPane,
    share: ShareButton,
    bundled: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pane.player.start_over(5)
    pane.player.set_speed(2.0)
    dialog = film_dialog(qtbot, pane, share, bundled, tmp_path / "a.mp4", monkeypatch)
    found = dialog.words()
    assert found is not None
    assert " ".join(found[0]) == (
        f"film --side-by-side --columns {pane.comparison.view.columns} --noise --push"
        f" --push-at 61 --push-at 1 --out {tmp_path / 'a.mp4'} --episodes-per 1 --seed 5"
        f" --speed 2.0 --force --json -- {bundled}"
    )


@pytest.mark.release
def test_a_film_of_the_comparison_shows_what_is_on_show(
    qtbot: QtBot,
    pane: ReplayPane,
    share: ShareButton,
    bundled: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "comparison.mp4"
    pane.player.set_speed(UNPACED)
    pane.player.start_over(5)
    dialog = film_dialog(qtbot, pane, share, bundled, target, monkeypatch)
    earned = played(qtbot, pane, 5)
    with qtbot.waitSignal(dialog.job.answered, timeout=2 * WAIT_MS) as answered:
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    told: dict[str, Any] = answered.args[0]
    assert [each["returns"] for each in told["agents"]] == [[total] for total in earned]
    names = [tile.title.text() for tile in pane.comparison.view.tiles]
    assert [each["name"] for each in told["agents"]] == names
    rows = -(-3 // pane.comparison.view.columns)
    assert told["height"] == rows * (500 + 38) + (rows - 1) * 4
    with av.open(str(target)) as film:
        assert sum(1 for _ in film.decode(video=0)) == told["frames"] == 215
