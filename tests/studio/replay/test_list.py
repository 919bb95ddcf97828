"""The list of saved agents in the replay pane."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from studio.replay import checkpoint_model
from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.checkpoint_model import CheckpointModel
from td3core import checkpoint
from td3core.checkpoint import Counters, Header
from td3core.config import make_settings
from td3core.envs.info import EnvInfo
from td3core.errors import RequestError
from td3core.evaluation import bundled as bundled_agents
from td3core.evaluation.result import EvaluationResult
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import RunLabel, write_label
from tests.support.tables import PLAIN_EVALUATION

# Qt's off-screen platform says so for every window with a smallest size.
pytestmark = pytest.mark.qt_log_ignore("does not support propagateSizeHints", extend=True)

USER = Qt.ItemDataRole.UserRole


@pytest.fixture(autouse=True)
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the program come with one agent, in a file whose header is only pretended."""
    folder = tmp_path / "resources" / "agents"
    folder.mkdir(parents=True)
    monkeypatch.setattr(checkpoint_model, "files", lambda _: tmp_path / "resources")
    agent = folder / "BipedalWalker-v3.safetensors"
    agent.touch()
    return agent


@pytest.fixture
def panel(qtbot: QtBot, tmp_path: Path) -> Iterator[CheckpointPanel]:
    made = CheckpointPanel()
    qtbot.addWidget(made)
    made.set_runs_dir(tmp_path / "runs")
    yield made
    made.shutdown()


def make_run(tmp_path: Path, seed: int = 0, *names: str) -> RunDirectory:
    config, tunables = make_settings({"env": "BipedalWalker-v3", "seed": seed})
    run = RunDirectory.create(tmp_path / "runs", config, tunables)
    for name in names:
        (run.checkpoints / f"{name}.safetensors").touch()
    return run


def header_of(path: Path) -> Header:
    """Pretend that every file holds the same good agent, except broken ones."""
    if "20000" in path.name:
        raise RequestError(f"{path.name} is not a readable checkpoint.")
    config, tunables = make_settings({"env": "BipedalWalker-v3", "seed": 3})
    bounds = (1.0,) * 4
    return Header(
        config=config,
        tunables=tunables,
        env=EnvInfo(
            env_id="BipedalWalker-v3",
            obs_dim=24,
            act_dim=4,
            action_low=bounds,
            action_high=bounds,
            max_episode_steps=1600,
            reward_threshold=300.0,
        ),
        counters=Counters(env_steps=250_000),
        evaluation=EvaluationResult((260.0, 276.0), (900, 910), 0),
        complete=True,
        created="2026-01-01T00:00:00+00:00",
    )


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "read_header", header_of)


def texts(model: CheckpointModel) -> list[str]:
    return [model.index(row).data() for row in range(model.rowCount())]


def shows(qtbot: QtBot, panel: CheckpointPanel, *paths: Path) -> None:
    """Wait until these checkpoints are in the list."""
    qtbot.waitUntil(lambda: all(panel.model.find(path).isValid() for path in paths))


def test_rows_stand_under_headings_by_step_then_best_then_last(
    qtbot: QtBot,
    panel: CheckpointPanel,
    tmp_path: Path,
    pretended: None,
    qtmodeltester: ModelTester,
) -> None:
    run = make_run(tmp_path, 0, "step_000100000", "step_000050000", "best", "last")
    table = run.table("evaluations", PLAIN_EVALUATION)
    table.add((50_000, 118.2, 1, "", 1, "118.2", "9", 0, 1.0))
    table.flush()
    panel.set_current_run(run.path)
    # Before anything is read, and before the headers are.
    assert texts(panel.model) == ["This run", "Bundled", "BipedalWalker-v3"]
    rows = [
        "50k  118.2",
        "100k",
        "best  250k  268.0",
        "last  250k  268.0",
        "Bundled",
        "BipedalWalker-v3 · return 268.0",
    ]
    qtbot.waitUntil(lambda: texts(panel.model)[1:] == rows)
    assert texts(panel.model)[0].startswith("This run  ·  ")
    for row in (0, 5):
        index = panel.model.index(row)
        assert index.flags() == Qt.ItemFlag.NoItemFlags
        assert index.data(USER) is None
    assert panel.model.index(1).data(USER) == run.step_checkpoint(50_000)
    qtmodeltester.check(panel.model)


def test_a_tooltip_tells_path_environment_seed_and_return(
    qtbot: QtBot, panel: CheckpointPanel, bundled: Path, pretended: None
) -> None:
    def tip() -> str:
        # A long path may be broken between any two of its parts.
        text: str = panel.model.find(bundled).data(Qt.ItemDataRole.ToolTipRole)
        return text.replace("\N{ZERO WIDTH SPACE}", "")

    assert str(bundled) in tip()
    qtbot.waitUntil(lambda: "seed" in tip())
    assert str(bundled) in tip()
    assert "BipedalWalker-v3, seed 3, step 250,000" in tip()
    assert "return 268.0 ± 8.0 over 2 episodes" in tip()


def test_an_unreadable_file_stays_in_the_list_greyed_with_the_reason(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path, pretended: None
) -> None:
    run = make_run(tmp_path, 0, "step_000010000", "step_000020000")
    panel.set_current_run(run.path)
    shows(qtbot, panel, run.step_checkpoint(20_000))
    good, bad = panel.model.index(1), panel.model.index(2)
    qtbot.waitUntil(lambda: bad.data(Qt.ItemDataRole.ForegroundRole) is not None)
    assert good.data(Qt.ItemDataRole.ForegroundRole) is None
    palette = QApplication.palette()
    grey = palette.color(palette.ColorRole.PlaceholderText)
    assert bad.data(Qt.ItemDataRole.ForegroundRole).color() == grey
    assert bad.data() == "20k"
    assert "is not a readable checkpoint" in bad.data(Qt.ItemDataRole.ToolTipRole)


def test_the_list_grows_while_the_run_saves_and_keeps_what_is_chosen(
    qtbot: QtBot,
    panel: CheckpointPanel,
    tmp_path: Path,
    pretended: None,
    qtmodeltester: ModelTester,
) -> None:
    run = make_run(tmp_path, 0, "step_000030000")
    panel.set_current_run(run.path)
    shows(qtbot, panel, run.step_checkpoint(30_000))
    panel.select(run.step_checkpoint(30_000))
    said: list[Path] = []
    panel.checkpoint_chosen.connect(said.append)
    # Deleted agents would not be listed.
    for path in (run.last, *map(run.step_checkpoint, (10_000, 40_000))):
        path.touch()
    panel.note_saved(run.last, 30_000, None)
    panel.note_saved(run.step_checkpoint(10_000), 10_000, -20.5)
    run.best.touch()
    panel.note_saved(run.best, 40_000, 12.0)
    panel.note_saved(run.step_checkpoint(40_000), 40_000, 12.0)
    panel.note_saved(run.best, 50_000, 13.0)
    rows = texts(panel.model)
    assert rows[1:4] == ["10k  −20.5", "30k", "40k  12.0"]
    assert [row.split()[0] for row in rows[4:6]] == ["best", "last"]
    # One that the run did not keep leaves the list with the next that is saved.
    run.step_checkpoint(10_000).unlink()
    panel.note_saved(run.last, 50_000, None)
    qtbot.waitUntil(lambda: not panel.model.find(run.step_checkpoint(10_000)).isValid())
    assert panel.chosen() == run.step_checkpoint(30_000)
    assert not said
    qtmodeltester.check(panel.model)


def test_an_evaluation_is_shown_with_the_checkpoint_of_its_step_whichever_comes_first(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path, pretended: None
) -> None:
    run = make_run(tmp_path, 0, "step_000030000")
    panel.set_current_run(run.path)
    shows(qtbot, panel, run.step_checkpoint(30_000))
    panel.note_evaluated(30_000, -7.5)
    panel.note_evaluated(40_000, 12.0)
    run.step_checkpoint(40_000).touch()
    panel.note_saved(run.step_checkpoint(40_000), 40_000, None)
    assert texts(panel.model)[1:3] == ["30k  −7.5", "40k  12.0"]


def test_the_last_agent_has_the_return_of_its_evaluation_once_that_is_known(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An agent is saved before it is evaluated: only the best one's file knows its return.
    monkeypatch.setattr(
        checkpoint, "read_header", lambda path: replace(header_of(path), evaluation=None)
    )
    run, older = make_run(tmp_path, 0, "last"), make_run(tmp_path, 1, "last")
    table = older.table("evaluations", PLAIN_EVALUATION)
    table.add((250_000, 118.2, 1, "", 1, "118.2", "9", 0, 1.0))
    table.flush()
    panel.set_current_run(run.path)
    qtbot.waitUntil(lambda: "last  250k" in texts(panel.model))
    assert [file.mean_return for file in panel.model.current_files() or ()] == [None]
    panel.note_evaluated(250_000, -7.5)
    assert "last  250k  −7.5" in texts(panel.model)
    tip = panel.model.find(run.last.absolute()).data(Qt.ItemDataRole.ToolTipRole)
    assert "<br>return −7.5</qt>" in tip
    assert [file.mean_return for file in panel.model.current_files() or ()] == [-7.5]
    panel.set_current_run(older.path)
    qtbot.waitUntil(lambda: "last  250k  118.2" in texts(panel.model))


def test_a_bundled_agent_shows_the_evaluation_of_its_record(
    qtbot: QtBot,
    panel: CheckpointPanel,
    bundled: Path,
    pretended: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundled_agents, "files", lambda _: bundled.parents[1])
    record = {"evaluation": {"seed": 1000, "returns": [300.0, 310.0, 320.0]}}
    bundled.with_suffix(".json").write_text(json.dumps(record))
    qtbot.waitUntil(lambda: "BipedalWalker-v3 · return 310.0" in texts(panel.model))
    tip = panel.model.find(bundled).data(Qt.ItemDataRole.ToolTipRole)
    assert "<br>return 310.0 ± 8.2 over 3 episodes</qt>" in tip


def test_a_file_that_is_replaced_is_read_again(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [250_000]

    def read(path: Path) -> Header:
        return replace(header_of(path), counters=Counters(env_steps=steps[0]))

    monkeypatch.setattr(checkpoint, "read_header", read)
    run = make_run(tmp_path, 0, "last")
    panel.set_current_run(run.path)
    qtbot.waitUntil(lambda: "last  250k  268.0" in texts(panel.model))
    steps[0] = 300_000
    panel.note_saved(run.last, 300_000, None)
    qtbot.waitUntil(lambda: "last  300k  268.0" in texts(panel.model))
    steps[0] = 350_000
    # By another process: nobody announces it.
    run.last.write_bytes(b"another")
    panel.refresh_current()
    qtbot.waitUntil(lambda: "last  350k  268.0" in texts(panel.model))


def choose_source(panel: CheckpointPanel, number: int) -> None:
    panel.source.setCurrentIndex(number)
    panel.source.activated.emit(number)


def test_choosing_an_earlier_run_lists_its_checkpoints_and_keeps_the_selection(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path, bundled: Path, pretended: None
) -> None:
    current = make_run(tmp_path, 0, "step_000030000")
    older = make_run(tmp_path, 1, "step_000070000", "best")
    panel.set_current_run(current.path)
    panel.select(bundled)
    said: list[Path] = []
    panel.checkpoint_chosen.connect(said.append)
    qtbot.waitUntil(lambda: panel.source.count() == 2)
    assert panel.source.itemText(1).startswith("BipedalWalker-v3 · seed 1 · TD3")
    choose_source(panel, 1)
    shows(qtbot, panel, older.step_checkpoint(70_000))
    assert panel.chosen() == bundled
    panel.select(older.best)
    choose_source(panel, 0)
    assert not panel.model.find(older.best).isValid()
    assert panel.chosen() is None
    assert not said


def test_earlier_runs_are_called_what_the_user_calls_them(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path
) -> None:
    run = make_run(tmp_path, 0)
    write_label(run.path, RunLabel(name="my walk"))
    panel.set_current_run(tmp_path / "runs" / "another")
    qtbot.waitUntil(lambda: panel.source.count() == 2)
    assert panel.source.itemText(1) == "BipedalWalker-v3 · my walk"


def test_the_list_of_earlier_runs_opens_once_it_has_been_read(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path
) -> None:
    make_run(tmp_path, 0)
    panel.set_runs_dir(tmp_path / "runs")
    qtbot.waitUntil(panel.source.isEnabled)
    panel.show()
    # Trained elsewhere since the folder was read.
    late = make_run(tmp_path, 1)
    qtbot.mouseClick(panel.source, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(panel.source.view().isVisible)
    assert panel.source.findData(str(late.path)) > 0
    panel.source.hidePopup()


def test_a_run_that_is_over_can_be_chosen_when_the_next_one_goes_on(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path
) -> None:
    first, second = make_run(tmp_path, 0, "best"), make_run(tmp_path, 1)
    panel.set_current_run(first.path)
    shows(qtbot, panel, first.best)
    qtbot.waitUntil(lambda: panel.source.findData(str(second.path)) > 0)
    assert panel.source.findData(str(first.path)) < 0
    panel.set_current_run(second.path)
    qtbot.waitUntil(lambda: panel.source.findData(str(first.path)) > 0)
    assert not panel.model.find(first.best).isValid()


def test_a_list_that_could_not_be_shown_once_still_lets_an_agent_be_chosen(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, 0, "best")
    panel.set_current_run(run.path)
    shows(qtbot, panel, run.best)

    def broken(*_: object) -> None:
        raise RuntimeError("the list is broken")

    with monkeypatch.context() as patch:
        patch.setattr(panel.model, "clear_section", broken)
        with pytest.raises(RuntimeError):
            panel.set_current_run(None)
    with qtbot.waitSignal(panel.checkpoint_chosen) as chosen:
        panel.view.setCurrentIndex(panel.model.find(run.best))
    assert chosen.args == [run.best]


def test_a_click_chooses_and_a_double_click_confirms(
    qtbot: QtBot, panel: CheckpointPanel, bundled: Path, pretended: None
) -> None:
    panel.resize(280, 200)
    panel.show()
    qtbot.waitExposed(panel)
    where = panel.view.visualRect(panel.model.find(bundled)).center()
    with qtbot.waitSignal(panel.checkpoint_chosen) as chosen:
        qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert chosen.args == [bundled]
    with qtbot.waitSignal(panel.checkpoint_activated) as confirmed:
        qtbot.mouseDClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert confirmed.args == [bundled]


@pytest.mark.parametrize("button", [Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton])
def test_only_the_left_button_chooses(
    qtbot: QtBot, panel: CheckpointPanel, bundled: Path, button: Qt.MouseButton
) -> None:
    panel.show()
    place = panel.view.visualRect(panel.model.find(bundled)).center()
    with qtbot.assertNotEmitted(panel.checkpoint_chosen):
        qtbot.mouseClick(panel.view.viewport(), button, pos=place)
    assert panel.chosen() is None


@pytest.mark.slow
def test_ten_thousand_checkpoints_are_listed_without_opening_one(
    qtbot: QtBot, panel: CheckpointPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def read(path: Path) -> Header:
        opened.append(path)
        return header_of(path)

    monkeypatch.setattr(checkpoint, "read_header", read)
    run = make_run(tmp_path, 0, *(f"step_{n * 1000:09d}" for n in range(1, 10_001)))
    panel.set_current_run(run.path)
    qtbot.waitUntil(lambda: panel.model.rowCount() == 10_003)
    assert not opened
    panel.resize(280, 200)
    with qtbot.waitExposed(panel):
        panel.show()
    panel.grab()
    qtbot.waitUntil(lambda: bool(opened))
    assert len(opened) < 30, "only rows in sight are looked at"
