"""Agents side by side: the same episodes in step, and the numbers of independent rollouts."""

from collections.abc import Collection
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSize, Qt
from PySide6.QtWidgets import QFileDialog, QListWidgetItem
from pytestqt.qtbot import QtBot

from studio.formatting import plain_minus
from studio.replay.compare.dialog import CompareDialog
from studio.replay.compare.related import Related, related_runs
from studio.replay.compare.tile import Tile
from studio.replay.compare.view import best_columns
from studio.replay.pane import ReplayPane
from studio.replay.player import UNPACED, PlayerState
from studio.replay.renderer.protocol import Frame
from td3core import checkpoint
from td3core.config import make_settings
from td3core.envs.make import check_env, make_env
from td3core.playing.compared import ComparedAgent
from td3core.playing.disturbance import Variant
from td3core.randomness import Purpose, episode_seed, generator
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import Parent, RunLabel, write_label
from tests.studio.replay.scenes import PENDULUM, WAIT_MS, load, pixels, played, watched, write_agent
from tests.support.marks import release, slow

PENDULUM_FPS = 30


def rolled_out(
    path: Path, seed: int, sigma: float = 0.0, rho: float = 0.0, pushed: Collection[int] = ()
) -> float:
    """Play the first episode of a seed, with noise of its own."""
    found = checkpoint.load(path)
    policy, reset_seed = found.policy(), episode_seed(seed, Purpose.EVALUATION, 0)
    random = generator(reset_seed, Purpose.EXPLORATION)
    env = make_env(found.header.config.env)
    obs, _ = env.reset(seed=reset_seed)
    total, step, over, noise = 0.0, 0, False, np.zeros(1, np.float32)
    while not over:
        step += 1
        action = policy(obs)
        drawn = random.standard_normal(len(action), np.float32)
        keep = rho if step > 1 else 0.0
        noise = np.float32(keep) * noise + np.float32(np.sqrt(1 - keep**2)) * drawn
        added = drawn if step in pushed else sigma * noise
        action = np.clip(action + added, -1, 1).astype(np.float32)
        obs, reward, terminated, truncated, _ = env.step(action)
        total, over = total + reward, terminated or truncated
    env.close()
    return total


def open_dialog(qtbot: QtBot, pane: ReplayPane) -> CompareDialog:
    pane.comparison.action.trigger()
    found = pane.window().findChild(CompareDialog)
    assert found is not None
    qtbot.waitUntil(found.isVisible)
    return found


def item_of(dialog: CompareDialog, path: Path) -> QListWidgetItem | None:
    """Return the line of an agent."""
    items = (dialog.agents.item(at) for at in range(dialog.agents.count()))
    return next((each for each in items if each.data(Qt.ItemDataRole.UserRole) == path), None)


def tick(qtbot: QtBot, dialog: CompareDialog, path: Path) -> None:
    """Check an agent's box with the keyboard."""
    item = item_of(dialog, path)
    assert item is not None
    dialog.agents.setCurrentItem(item)
    qtbot.keyClick(dialog.agents, Qt.Key.Key_Space)


def test_an_agent_that_is_no_longer_saved_is_not_compared_under_the_name_of_its_file(
    qtbot: QtBot, pane: ReplayPane, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "run"
    best, step = (run / "checkpoints" / f"{n}.safetensors" for n in ("best", "step_000001000"))
    pane.set_current_run(run)
    for env_steps in (1000, 2000):
        write_agent(best, check_env(PENDULUM), env_steps)
        pane.note_saved(best, env_steps, None)
        if env_steps == 1000:
            load(qtbot, pane.player, best)
    assert pane.caption.title.text() == "Pendulum-v1 · earlier best, step 1,000"
    dialog = open_dialog(qtbot, pane)
    assert dialog.compared() == []
    left_out = "The agent shown (earlier best, step 1,000) is left out: it is no longer saved."
    assert dialog.note.text() == f"0 chosen\n{left_out}"
    dialog.close()
    # Another file holds it.
    write_agent(step, check_env(PENDULUM), 1000)
    pane.note_saved(step, 1000, None)
    qtbot.waitUntil(lambda: any(point.path == step for point in pane.timeline.points))
    dialog = open_dialog(qtbot, pane)
    assert dialog.compared() == [ComparedAgent(step)]
    assert "left out" not in dialog.note.text()


def test_agents_chosen_by_keyboard_play_in_step_as_they_do_alone(
    qtbot: QtBot, pane: ReplayPane, bundled: Path, tmp_path: Path
) -> None:
    write_agent(bundled, check_env(PENDULUM), noise_correlation=0.9)
    other = write_agent(bundled.with_name("Other.safetensors"), check_env(PENDULUM), 70_000)
    stranger = write_agent(
        bundled.with_name("Car.safetensors"), check_env("MountainCarContinuous-v0")
    )
    pane.checkpoints.model.show_bundled()
    load(qtbot, pane.player, bundled)
    dialog = open_dialog(qtbot, pane)
    assert not dialog.compare_button.isEnabled()
    qtbot.waitUntil(lambda: item_of(dialog, stranger).isHidden(), timeout=WAIT_MS)
    tick(qtbot, dialog, other)
    qtbot.keyClick(dialog.variants[Variant.NOISE], Qt.Key.Key_Space)
    qtbot.keyClick(dialog.variants[Variant.PUSH], Qt.Key.Key_Space)
    with qtbot.waitSignal(pane.comparison.changed, timeout=WAIT_MS):
        qtbot.mouseClick(dialog.compare_button, Qt.MouseButton.LeftButton)
    view = pane.comparison.view
    assert [tile.title.text() for tile in view.tiles] == [
        "step 50,000 · Pendulum-v1",
        "step 70,000 · Other",
        "step 50,000 · noise σ 0.1 · Pendulum-v1",
        "step 50,000 · pushed · Pendulum-v1",
    ]
    assert (view.isVisible(), pane.view.isVisible()) == (True, False)
    pane.player.set_speed(UNPACED)
    first_push = range(2 * PENDULUM_FPS + 1, 2 * PENDULUM_FPS + 16)
    expected = [
        rolled_out(bundled, 3),
        rolled_out(other, 3),
        rolled_out(bundled, 3, sigma=0.1, rho=0.9),
        rolled_out(bundled, 3, pushed=first_push),
    ]
    # The two files hold the same networks.
    assert len(set(expected)) == 3
    assert expected[2] != rolled_out(bundled, 3, sigma=0.1)
    assert played(qtbot, pane, 3) == pytest.approx(expected, abs=1e-9)
    assert played(qtbot, pane, 3) == pytest.approx(expected, abs=1e-9)
    returns = [tile.total.text().removeprefix("return ") for tile in view.tiles]
    shown = [float(plain_minus(text).replace(",", "")) for text in returns]
    assert shown == pytest.approx(expected, abs=0.051)
    assert all(tile.ending.text() == "time limit" for tile in view.tiles)
    with qtbot.waitSignal(pane.comparison.changed, timeout=WAIT_MS):
        qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert (view.isVisible(), pane.view.isVisible()) == (False, True)
    assert (pane.player.compared, pane.player.path) == ((), bundled)


def test_agents_are_compared_in_one_dialog_from_the_pane_or_the_list_while_there_is_one(
    qtbot: QtBot, pane: ReplayPane, bundled: Path
) -> None:
    from_list = pane.checkpoints.compare_action
    for action in (pane.comparison.action, from_list):
        assert not action.isEnabled()
        assert action.toolTip().endswith("side by side. Not now: choose an agent first")
    load(qtbot, pane.player, bundled)
    from_list.setData(bundled)
    for _ in range(3):
        from_list.trigger()
        # The one before is deleted only now.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert len(pane.window().findChildren(CompareDialog)) == 1
    pane.window().findChild(CompareDialog).close()
    pane.player.close()
    assert not from_list.isEnabled()


def test_the_manual_names_every_entry_of_the_menu_of_an_agent(pane: ReplayPane, root: Path) -> None:
    text = (root / "resources" / "manual" / "replay.md").read_text("utf-8")
    entries = [action.text() for action in pane.checkpoints.menu.actions() if action.text()]
    assert "Compare with the current agent…" in entries
    assert [entry for entry in entries if f"*{entry}*" not in text] == []


def test_an_agent_that_cannot_be_compared_is_not_counted_and_the_dialog_says_why(
    qtbot: QtBot, pane: ReplayPane, bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    car = write_agent(bundled.with_name("Car.safetensors"), check_env("MountainCarContinuous-v0"))
    pane.checkpoints.model.show_bundled()
    load(qtbot, pane.player, bundled)
    pane.comparison.choose_with(car)
    dialog = pane.window().findChild(CompareDialog)
    why_car = "Car.safetensors is left out: it is an agent of MountainCarContinuous-v0."
    alone = "Tick one more, or one of the two below."
    qtbot.waitUntil(lambda: dialog.note.text() == f"{alone}\n{why_car}", timeout=WAIT_MS)
    assert not dialog.compare_button.isEnabled()
    broken = tmp_path / "broken.safetensors"
    broken.touch()
    other = write_agent(tmp_path / "other.safetensors", check_env(PENDULUM))
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(broken), str(other)], ""))
    qtbot.mouseClick(dialog.files_button, Qt.MouseButton.LeftButton)
    # Its file has not been read yet.
    assert not dialog.compare_button.isEnabled()
    qtbot.waitUntil(dialog.compare_button.isEnabled, timeout=WAIT_MS)
    count, *whys = dialog.note.text().splitlines()
    assert (count, whys[0], len(whys)) == ("2 chosen", why_car, 2)
    assert "broken" in whys[1]
    assert item_of(dialog, broken).isHidden()
    assert [each.path for each in dialog.compared()] == [bundled, other]
    dialog.close()


def test_agents_read_at_once_are_shown_at_once(
    qtbot: QtBot, pane: ReplayPane, bundled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(qtbot, pane.player, bundled)
    dialog = open_dialog(qtbot, pane)
    drawn: list[None] = []
    monkeypatch.setattr(dialog, "_show_rows", lambda: drawn.append(None))
    for _ in range(100):
        pane.checkpoints.model.headers.known.emit(bundled)
    qtbot.waitUntil(lambda: bool(drawn))
    # The files of other agents may have been read meanwhile.
    assert len(drawn) < 5
    dialog.close()


def test_a_push_now_is_repeated_with_the_seed_and_past_pictures_are_those_that_were_played(
    qtbot: QtBot, pane: ReplayPane, agent: Path
) -> None:
    player = pane.player
    load(qtbot, player, agent)
    pictures = watched(player)
    # Pictures are compared: not before they have their size.
    settled = pane.comparison.view.tile_settled
    with qtbot.waitSignals([player.loaded, player.frame_ready, settled], timeout=WAIT_MS):
        pane.comparison.compare([ComparedAgent(agent), ComparedAgent(agent, Variant.PUSH)])
    for _ in range(10):
        player.step()
    qtbot.waitUntil(lambda: pictures[-1].step.number == 10, timeout=WAIT_MS)
    before = pictures[-1]
    assert [step.number for step in before.steps] == [10, 10]
    qtbot.mouseClick(pane.comparison.view.push_button, Qt.MouseButton.LeftButton)
    qtbot.keyClick(pane.comparison.view, Qt.Key.Key_Period)
    qtbot.waitUntil(lambda: pictures[-1].step.number == 11, timeout=WAIT_MS)
    assert pictures[-1].steps[0].reward != pictures[-1].steps[1].reward
    qtbot.keyClick(pane.comparison.view, Qt.Key.Key_Comma)
    qtbot.waitUntil(lambda: pictures[-1].step.number == 10, timeout=WAIT_MS)
    assert pictures[-1].steps == before.steps
    assert _alike(pictures[-1], before)
    player.set_speed(UNPACED)
    pushed = rolled_out(agent, 0, pushed=[*range(11, 26), *range(61, 76)])
    assert played(qtbot, pane, 0) == pytest.approx([rolled_out(agent, 0), pushed], abs=1e-9)
    # A single agent is as before.
    load(qtbot, player, agent)
    assert not pictures[-1].steps


def _alike(one: Frame, other: Frame) -> bool:
    """Return whether the pictures of each agent differ by at most JPEG's error."""
    return all(
        np.abs(
            np.frombuffer(a.constBits(), np.uint8).astype(int)
            - np.frombuffer(b.constBits(), np.uint8)
        ).mean()
        < 1.0
        for a, b in zip(one.images, other.images, strict=True)
    )


# Importing Box2D while warnings are errors ends the interpreter.
@pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")
@pytest.mark.parametrize("env", [*slow("BipedalWalker-v3"), *release("HalfCheetah-v5")])
def test_bundled_agents_are_compared_with_pictures_of_their_own(
    qtbot: QtBot, pane: ReplayPane, env: str
) -> None:
    path = Path(str(files("resources") / "agents" / f"{env}.safetensors"))
    player = pane.player
    pictures = watched(player)
    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        pane.comparison.compare(
            [ComparedAgent(path), ComparedAgent(path), ComparedAgent(path, Variant.NOISE)]
        )
    for _ in range(20):
        player.step()
    qtbot.waitUntil(lambda: pictures[-1].step.number == 20, timeout=4 * WAIT_MS)
    first, second, noisy = (bytes(image.constBits()) for image in pictures[-1].images)
    assert first == second != noisy
    assert len(set(first)) > 5
    assert player.state is PlayerState.PAUSED
    assert first != pixels(pictures[0])


def test_tiles_use_the_room_they_have() -> None:
    assert best_columns(2, QSize(900, 400), 1.5, 20) == 2
    assert best_columns(3, QSize(300, 700), 1.5, 20) == 1
    assert best_columns(4, QSize(900, 600), 1.5, 20) == 2
    assert best_columns(3, QSize(1500, 300), 1.5, 20) == 3


def test_the_names_of_three_agents_can_be_read_in_a_window_of_1024_pixels(qtbot) -> None:
    tile = Tile(1)
    qtbot.addWidget(tile)
    # A third of the room that the strip of plots leaves there.
    tile.resize(220, 300)
    tile.show()
    name = "step 338,574 · noise σ 0.1"
    tile.title.setText(name)
    qtbot.waitUntil(lambda: tile.title.width() > 0)
    assert tile.title.shown == name


def test_runs_that_belong_to_the_one_on_show_are_offered(tmp_path: Path) -> None:
    def made(name: str, seed: int, group: str = "", parent: Parent | None = None) -> RunDirectory:
        config, tunables = make_settings({"env": PENDULUM, "seed": seed, "steps": 300})
        run = RunDirectory.create(tmp_path / "runs", config, tunables, parent, group)
        write_label(run.path, RunLabel(name=name))
        return run

    parent = made("parent", 0)
    of_parent = Parent(run=parent.path.name, checkpoint="last.safetensors", env_steps=100)
    shown = made("shown", 1, "ours", of_parent)
    of_shown = Parent(run=shown.path.name, checkpoint="last.safetensors", env_steps=100)
    runs = [parent, shown, made("branch", 2, "", of_shown), made("seed", 3, "ours")]
    for run in [*runs, made("stranger", 4, "theirs")]:
        write_agent(run.last, check_env(PENDULUM))
    made("no agents yet", 5, "ours")
    assert sorted(related_runs(shown.path, lambda: False)) == [
        ("Branch: branch", (runs[2].last,)),
        ("Parent: parent", (parent.last,)),
        ("Seed 3 of the group: seed", (runs[3].last,)),
    ]


def test_the_dialog_lists_runs_that_belong_to_the_one_on_show(
    qtbot: QtBot, pane: ReplayPane, bundled: Path, tmp_path: Path, monkeypatch
) -> None:
    write_agent(bundled, check_env(PENDULUM))
    other = write_agent(tmp_path / "other" / "best.safetensors", check_env(PENDULUM))
    found = [Related("Parent: an earlier one", (other,))]
    monkeypatch.setattr("studio.replay.compare.dialog.related_runs", lambda *_: found)
    monkeypatch.setattr(type(pane.checkpoints), "current_run", property(lambda _: tmp_path))
    load(qtbot, pane.player, bundled)
    dialog = open_dialog(qtbot, pane)
    qtbot.waitUntil(lambda: item_of(dialog, other) is not None, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not item_of(dialog, other).isHidden(), timeout=WAIT_MS)
    tick(qtbot, dialog, other)
    assert [each.path for each in dialog.compared()] == [bundled, other]
    dialog.close()
