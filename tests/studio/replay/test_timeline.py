"""The timeline: all agents of the current run, chosen by mouse or keys."""

import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QFontMetricsF
from pytestqt.qtbot import QtBot

from studio.replay.newest_agent_tracker import ShownAgent
from studio.replay.pane import ReplayPane
from studio.replay.player import PlayerState
from studio.replay.timeline.points import Mark, SavedFile, TimelinePoint, marks_of, points_of
from studio.replay.timeline.strip import Timeline
from studio.session.agents import read_agents
from studio.theme.sizes import sized_font
from studio.theme.theme import load_theme
from td3core.config import make_settings
from td3core.envs.make import check_env
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import Parent
from tests.studio.replay.scenes import PENDULUM, WAIT_MS, load, write_agent
from tests.support.tables import PLAIN_EVALUATION

WALKER = Path(str(files("resources") / "agents" / "BipedalWalker-v3.safetensors"))


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with three agents, one saved by hand, and one branched from."""
    config, tunables = make_settings({"env": PENDULUM})
    made = RunDirectory.create(tmp_path / "runs", config, tunables)
    info = check_env(PENDULUM)
    for step in (1000, 2000, 3000):
        write_agent(made.step_checkpoint(step), info, step)
    write_agent(made.best, info, 2000)
    write_agent(made.last, info, 3000)
    table = made.table("evaluations", PLAIN_EVALUATION)
    for step, mean in ((1000, -900.0), (2000, -150.0), (3000, -300.0)):
        table.add((step, mean, 1, "", 1, str(mean), "9", 0, 1.0))
    table.flush()
    made.note({"step": 1000, "event": "save", "time": ""})
    made.sync_journal()
    parent = Parent(run=made.path.name, checkpoint="step_000002000", env_steps=2000)
    RunDirectory.create(tmp_path / "runs", config, tunables, parent=parent)
    return made


def at(pane: ReplayPane, index: int) -> QPoint:
    """Return where an agent is on the timeline."""
    timeline = pane.timeline
    return QPoint(round(timeline.x_of(timeline.points[index])), timeline.height() // 2)


def test_files_of_the_same_step_are_one_point_with_all_marks() -> None:
    files = [
        SavedFile(path=Path("step_2"), env_steps=2, mean_return=5.0),
        SavedFile(path=Path("step_1"), env_steps=1, mean_return=None),
        SavedFile(path=Path("best"), env_steps=2, mean_return=5.0),
        SavedFile(path=Path("last"), env_steps=9, mean_return=None),
    ]
    points = points_of(files, marks_of([2], [2, 7]))
    assert [point.env_steps for point in points] == [1, 2, 9]
    assert points[1].marks == {Mark.BEST, Mark.MANUAL, Mark.BRANCH}
    assert points[1].text == "Step 2, return 5.0, best, saved by hand, branched from here"
    assert points[1].path == Path("step_2")
    assert points[1].holds(Path("best"))
    assert points[2].marks == {Mark.LAST}


def test_the_height_of_a_bar_does_not_cost_a_look_at_all_agents(qtbot: QtBot) -> None:
    class Watched(list[TimelinePoint]):
        looks = 0

        def __iter__(self) -> Iterator[TimelinePoint]:
            self.looks += 1
            return super().__iter__()

    timeline = Timeline()
    qtbot.addWidget(timeline)
    path = Path("step")
    points = Watched(TimelinePoint(env_steps=n, path=path, mean_return=n) for n in range(3))
    timeline.show_points(points)
    points.looks = 0
    low, middle, high = (timeline.height_of(points[number]) for number in range(3))
    assert low < middle < high
    assert points.looks == 0


def test_no_mark_is_drawn_into_the_text_below_the_bars(qtbot: QtBot) -> None:
    timeline = Timeline()
    qtbot.addWidget(timeline)
    timeline.set_theme(load_theme("light"))
    timeline.resize(timeline.sizeHint().expandedTo(QSize(400, 0)))
    grabbed = []
    for marks in (frozenset(), frozenset({Mark.BRANCH})):
        middle = TimelinePoint(env_steps=5, path=Path("middle"), mean_return=1.0, marks=marks)
        ends = [TimelinePoint(env_steps=n, path=Path(f"{n}"), mean_return=n) for n in (0, 10)]
        timeline.show_points([ends[0], middle, ends[1]])
        timeline.show_agent(ShownAgent(ends[1].path, -1, None, role=None, gone=False))
        grabbed.append(timeline.grab().toImage())
    text_height = math.ceil(QFontMetricsF(sized_font(10)).height())
    text = QRect(0, timeline.height() - text_height, timeline.width(), text_height)
    assert grabbed[0] != grabbed[1]
    assert grabbed[0].copy(text) == grabbed[1].copy(text)


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        (Qt.Key.Key_Home, 0, 0),
        (Qt.Key.Key_End, 2, 2),
        (Qt.Key.Key_PageUp, 2, 2),
        (Qt.Key.Key_Left, 0, 2),
    ],
)
def test_keys_choose_an_agent_also_while_none_of_them_is_shown(
    qtbot: QtBot, key: Qt.Key, value: int, wanted: int
) -> None:
    timeline = Timeline()
    qtbot.addWidget(timeline)
    paths = [Path(f"step_{number}") for number in range(3)]
    points = [TimelinePoint(env_steps=n, path=path) for n, path in enumerate(paths)]
    timeline.show_points(points)
    for shown in (paths[value], Path("other")):
        timeline.show_agent(ShownAgent(shown, -1, None, role=None, gone=False))
    assert (timeline.current, timeline.value()) == (None, value)
    with qtbot.waitSignal(timeline.chosen) as chosen:
        qtbot.keyClick(timeline, key)
    assert chosen.args == [paths[wanted]]


def test_a_click_a_drag_and_the_arrow_keys_play_other_agents_of_the_run(
    qtbot: QtBot, pane: ReplayPane, run: RunDirectory
) -> None:
    timeline = pane.timeline
    pane.show_run(read_agents(run))
    qtbot.waitUntil(lambda: len(timeline.points) == 3, timeout=WAIT_MS)
    wanted = [{Mark.MANUAL}, {Mark.BEST, Mark.BRANCH}, {Mark.LAST}]
    qtbot.waitUntil(lambda: [p.marks for p in timeline.points] == wanted, timeout=WAIT_MS)
    assert [p.mean_return for p in timeline.points] == [-900.0, -150.0, -300.0]
    heights = [timeline.height_of(point) for point in timeline.points]
    assert heights[0] < heights[2] < heights[1]

    def plays(step: int) -> bool:
        agent = pane.player.agent
        return (
            pane.player.state is PlayerState.PLAYING
            and agent is not None
            and agent.env_steps == step
            and pane.checkpoints.chosen() == agent.path
            and f"step {step:,}" in pane.caption.title.text()
        )

    # Opened with its best agent, which is the second point.
    qtbot.waitUntil(lambda: timeline.value() == 1, timeout=WAIT_MS)
    qtbot.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=at(pane, 0))
    qtbot.waitUntil(lambda: plays(1000), timeout=WAIT_MS)
    qtbot.mousePress(timeline, Qt.MouseButton.LeftButton, pos=at(pane, 0))
    qtbot.mouseMove(timeline, at(pane, 2))
    qtbot.mouseRelease(timeline, Qt.MouseButton.LeftButton, pos=at(pane, 2))
    qtbot.waitUntil(lambda: plays(3000), timeout=WAIT_MS)
    qtbot.keyClick(timeline, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: plays(2000), timeout=WAIT_MS)
    spoken = QAccessible.queryAccessibleInterface(timeline)
    assert spoken.text(QAccessible.Text.Name) == "Checkpoints of the run"
    text = "3 agents; Step 2,000, return −150.0, best, branched from here"
    assert spoken.text(QAccessible.Text.Description) == text


@pytest.mark.slow
# Importing Box2D while warnings are errors ends the interpreter.
@pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")
def test_every_walker_of_the_timeline_is_shown_by_the_process_that_is_already_there(
    qtbot: QtBot, pane: ReplayPane
) -> None:
    """So that another agent appears at once; ``benchmarks/watching.py`` measures how soon."""
    series = sorted(WALKER.with_suffix("").glob("step_*.safetensors"))
    load(qtbot, pane.player, WALKER)
    player, seen = pane.player, list[Path]()
    player.frame_ready.connect(lambda _: seen.append(player.agent.path if player.agent else WALKER))
    process = player.pid
    for agent in [*series, WALKER]:
        seen.clear()
        pane.timeline.chosen.emit(agent)
        qtbot.waitUntil(lambda agent=agent: agent in seen, timeout=WAIT_MS)
    assert player.playing
    assert player.pid == process
