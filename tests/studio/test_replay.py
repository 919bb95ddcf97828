"""The render pane: its process, its player, and what a user sees of them."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.replay import checkpoint_model
from studio.replay.link import Picture
from studio.replay.pane import ReplayPane
from studio.replay.player import Player, State
from studio.replay.ring import SLOTS, RingReader, RingWriter
from studio.replay.scaling import fitted
from studio.replay.stage import Clock
from td3core import checkpoint
from td3core.checkpoint import Counters, Header
from td3core.config import make_settings
from td3core.envs import EnvInfo, check_env
from td3core.evaluate import evaluate

# Qt's off-screen platform says so for every window with a smallest size.
pytestmark = pytest.mark.qt_log_ignore("does not support propagateSizeHints", extend=True)

PENDULUM = "Pendulum-v1"
WAIT_MS = 30_000

SCRIPTED = '''
"""Environments that do one thing wrong each."""
import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box


class Scripted(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 100}
    action_space = Box(-1.0, 1.0, (1,))
    observation_space = Box(-1.0, 1.0, (1,))

    def __init__(self, render_mode=None, draws="well", fails_at=0, obs_dim=1):
        self.render_mode, self.draws, self.fails_at = render_mode, draws, fails_at
        self.observation_space = Box(-1.0, 1.0, (obs_dim,))
        self.obs, self.steps = np.zeros(obs_dim, np.float32), 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.obs, {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.fails_at:
            raise ValueError("the motor is on fire")
        return self.obs, 1.0, False, False, {}

    def render(self):
        if self.draws == "never":
            return None
        if self.draws == "without driver":
            raise ImportError("no display")
        size = 20 + (10 * self.steps if self.draws == "in many sizes" else 0)
        return np.full((size, size + 1, 3), self.steps % 256, np.uint8)


def register(name, **kwargs):
    gym.register(name, entry_point=Scripted, kwargs=kwargs, max_episode_steps=1000)


register("Sound-v0")
register("Mute-v0", draws="never")
register("Blind-v0", draws="without driver")
register("Growing-v0", draws="in many sizes")
register("Failing-v0", fails_at=3)
register("Changed-v0", obs_dim=2)
'''


def write_agent(path: Path, env: EnvInfo) -> Path:
    """Write an exported agent with small random networks."""
    config, tunables = make_settings(
        {
            "env": env.env_id,
            "env_args": env.args,
            "actor_hidden": (8,),
            "critic_hidden": (8,),
        }
    )
    header = Header(
        path=path,
        config=config,
        tunables=tunables,
        env=env,
        counters=Counters(env_steps=50_000),
        evaluation=None,
        complete=False,
        created=checkpoint.now(),
    )
    random = np.random.default_rng(1)
    critic = (env.obs_dim + env.act_dim, 8, 1)
    widths = {"actor": (env.obs_dim, 8, env.act_dim), "critic1": critic, "critic2": critic}
    tensors = {}
    for name, (first, hidden, last) in widths.items():
        for i, shape in enumerate(((hidden, first), (last, hidden))):
            tensors[f"{name}.{i}.weight"] = random.normal(size=shape).astype(np.float32)
            tensors[f"{name}.{i}.bias"] = np.zeros(shape[0], np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.save(path, header, tensors)
    return path


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return write_agent(tmp_path / "agent.safetensors", check_env(PENDULUM))


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that writes an agent for one of the scripted environments."""
    (tmp_path / "scripted_stage.py").write_text(SCRIPTED)
    # A spawned process inherits the search path.
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str) -> Path:
        info = EnvInfo(
            env_id=f"scripted_stage:{name}",
            obs_dim=1,
            act_dim=1,
            action_low=(-1.0,),
            action_high=(1.0,),
            max_episode_steps=None,
            reward_threshold=None,
        )
        return write_agent(tmp_path / f"{name}.safetensors", info)

    return write


@pytest.fixture
def player(qtbot: QtBot) -> Iterator[Player]:
    made = Player()
    yield made
    made.close()


@pytest.fixture
def pane(qtbot: QtBot, tmp_path: Path) -> Iterator[ReplayPane]:
    made = ReplayPane(tmp_path / "runs")
    qtbot.addWidget(made)
    made.resize(300, 560)
    made.show()
    yield made
    made.close_player()


def watched(player: Player) -> list[Picture]:
    """Return a list that fills with the pictures that arrive."""
    pictures: list[Picture] = []
    player.frame_ready.connect(pictures.append)
    return pictures


def load(qtbot: QtBot, player: Player, path: Path) -> None:
    """Load an agent and wait for its first picture."""
    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        player.load(path)


def endings(qtbot: QtBot, pictures: list[Picture], count: int) -> list[float]:
    """Wait until so many episodes are over and return what they earned."""

    def totals() -> list[float]:
        return [picture.moment.total for picture in pictures if picture.moment.over]

    qtbot.waitUntil(lambda: len(totals()) >= count, timeout=WAIT_MS)
    return totals()[:count]


def pixels(picture: Picture) -> bytes:
    return bytes(picture.image.constBits())


def blocks() -> set[str]:
    folder = Path("/dev/shm")
    return {path.name for path in folder.glob("td3_*")} if folder.is_dir() else set()


def renderers() -> list[psutil.Process]:
    """Return child processes, less the interpreter's own keeper of shared memory."""
    children = psutil.Process().children()
    return [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]


# Playing ------------------------------------------------------------------------------------------


def test_loading_shows_the_first_state_and_stands_still(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    pictures = watched(player)
    load(qtbot, player, agent)
    assert player.state is State.PAUSED
    assert [picture.moment.step for picture in pictures] == [0]
    assert pictures[0].image.width() == 500


def test_playing_shows_thirty_different_pictures(qtbot: QtBot, player: Player, agent: Path) -> None:
    pictures = watched(player)
    player.set_speed(4.0)
    load(qtbot, player, agent)
    player.play()
    assert player.state is State.PLAYING
    qtbot.waitUntil(lambda: len({pixels(p) for p in pictures}) >= 30, timeout=WAIT_MS)


def test_a_step_takes_one_step_and_shows_one_picture(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    load(qtbot, player, agent)
    pictures = watched(player)
    for _ in range(5):
        player.step()
    qtbot.waitUntil(lambda: len(pictures) >= 5, timeout=WAIT_MS)
    assert [picture.moment.step for picture in pictures] == [1, 2, 3, 4, 5]
    assert player.state is State.PAUSED


def test_pausing_ends_the_pictures(qtbot: QtBot, player: Player, agent: Path) -> None:
    pictures = watched(player)
    player.set_speed(8.0)
    load(qtbot, player, agent)
    player.play()
    qtbot.waitUntil(lambda: len(pictures) > 5, timeout=WAIT_MS)
    player.pause()
    assert player.state is State.PAUSED
    before = len(pictures)
    player.step()
    player.step()
    player.step()
    # Had it played on, the last two steps would not follow one upon another.
    qtbot.waitUntil(lambda: len(pictures) >= before + 3, timeout=WAIT_MS)
    steps = [picture.moment.step for picture in pictures]
    qtbot.waitUntil(
        lambda: np.diff([p.moment.step for p in pictures][-3:]).tolist() == [1, 1], timeout=WAIT_MS
    )
    # What was still on its way when it paused, and the three steps.
    assert len(pictures) <= before + SLOTS + 1 + 3, steps


def test_the_pane_shows_the_very_episode_that_an_evaluation_measures(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    expected = evaluate(checkpoint.load(agent).policy(), PENDULUM, episodes=1, seed=7)
    pictures = watched(player)
    player.set_speed(8.0)
    player.start_over(7)
    load(qtbot, player, agent)
    player.play()
    first = endings(qtbot, pictures, 1)
    assert expected is not None
    assert first[0] == expected.returns[0]
    pictures.clear()
    player.start_over(7)
    assert endings(qtbot, pictures, 1) == first
    pictures.clear()
    player.start_over(8)
    assert endings(qtbot, pictures, 1) != first


# Importing Box2D while warnings are errors ends the interpreter.
@pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")
def test_every_episode_begins_in_a_fresh_world_as_in_an_evaluation(
    qtbot: QtBot, player: Player, tmp_path: Path
) -> None:
    lander = write_agent(tmp_path / "lander.safetensors", check_env("LunarLanderContinuous-v3"))
    policy = checkpoint.load(lander).policy()
    expected = evaluate(policy, "LunarLanderContinuous-v3", episodes=3, seed=0)
    pictures = watched(player)
    player.set_speed(8.0)
    load(qtbot, player, lander)
    player.play()
    assert expected is not None
    assert tuple(endings(qtbot, pictures, 3)) == expected.returns
    last = [picture for picture in pictures if picture.moment.over]
    assert [picture.episode for picture in last[:3]] == [0, 1, 2]
    assert last[0].moment.terminated


def test_a_checkpoint_saved_by_the_run_can_wait_for_the_end_of_the_episode(
    qtbot: QtBot, player: Player, agent: Path, staged: Callable[[str], Path]
) -> None:
    pictures = watched(player)
    player.set_speed(8.0)
    load(qtbot, player, agent)
    player.play()
    newer = staged("Sound-v0")
    with qtbot.waitSignal(player.loaded, timeout=WAIT_MS) as said:
        player.load(newer, at_episode_end=True)
        assert player.state is State.PLAYING
    assert said.args[0].path == newer
    assert any(picture.moment.over for picture in pictures)
    assert player.state is State.PLAYING


def test_of_many_loads_in_a_row_the_last_one_stays(
    qtbot: QtBot, player: Player, agent: Path, staged: Callable[[str], Path]
) -> None:
    said = []
    player.loaded.connect(said.append)
    last = staged("Sound-v0")
    for path in (agent, last, agent, agent, last):
        player.load(path)
    qtbot.waitUntil(lambda: player.state is State.PAUSED, timeout=WAIT_MS)
    assert player.path == last
    assert [loaded.path for loaded in said] == [last]


def test_pictures_may_change_their_size(
    qtbot: QtBot, player: Player, staged: Callable[[str], Path]
) -> None:
    pictures = watched(player)
    load(qtbot, player, staged("Growing-v0"))
    for _ in range(6):
        player.step()
    qtbot.waitUntil(lambda: len(pictures) == 7, timeout=WAIT_MS)
    assert [picture.image.height() for picture in pictures] == [20, 30, 40, 50, 60, 70, 80]
    for picture in pictures:
        line = picture.image.bytesPerLine()
        assert pixels(picture)[line : line + 3] == bytes([picture.moment.step] * 3)


def test_pictures_are_drawn_in_the_size_that_there_is_room_for(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    player.fit(QSize(300, 200))
    pictures = watched(player)
    load(qtbot, player, agent)
    assert pictures[-1].image.size() == QSize(200, 200)
    # It stands still, and is drawn again.
    player.fit(QSize(120, 700))
    qtbot.waitUntil(lambda: pictures[-1].image.size() == QSize(120, 120), timeout=WAIT_MS)
    assert pictures[-1].moment == pictures[0].moment
    player.close()
    load(qtbot, player, agent)
    assert pictures[-1].image.size() == QSize(120, 120)


def test_the_pane_asks_for_pictures_in_its_own_size(
    qtbot: QtBot, pane: ReplayPane, agent: Path
) -> None:
    pane._load(agent)

    def shown() -> QSize:
        return pane.view.image.size() if pane.view.image else QSize()

    def wanted() -> QSize:
        return QSize(500, 500).scaled(pane.view.size(), Qt.AspectRatioMode.KeepAspectRatio)

    qtbot.waitUntil(lambda: shown() == wanted(), timeout=WAIT_MS)
    before = wanted()
    pane.resize(pane.width() + 90, pane.height() + 70)
    qtbot.waitUntil(lambda: wanted() != before and shown() == wanted(), timeout=WAIT_MS)


# What goes wrong ----------------------------------------------------------------------------------


def test_a_killed_renderer_is_told_of_and_comes_back(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    load(qtbot, player, agent)
    player.play()
    assert player.pid is not None
    with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as said:
        os.kill(player.pid, signal.SIGKILL)
    assert said.args == ["The renderer stopped (signal 9). Training is not affected."]
    assert player.state is State.CRASHED
    assert not blocks()
    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        player.restart()
    assert player.path == agent
    with qtbot.waitSignal(player.frame_ready, timeout=WAIT_MS):
        player.play()


def test_an_environment_that_fails_is_told_of_in_its_own_words(
    qtbot: QtBot, player: Player, agent: Path, staged: Callable[[str], Path]
) -> None:
    load(qtbot, player, staged("Failing-v0"))
    with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as said:
        player.play()
    assert said.args == [
        "The renderer stopped: ValueError: the motor is on fire. Training is not affected."
    ]
    load(qtbot, player, agent)
    assert player.state is State.PAUSED


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ("Mute-v0", "scripted_stage:Mute-v0 cannot draw itself as a picture"),
        ("Blind-v0", "scripted_stage:Blind-v0 cannot draw itself here: no display."),
        ("Changed-v0", "the one installed here has 2 and 1."),
        ("Missing-v0", "Missing-v0"),
    ],
)
def test_an_environment_that_cannot_be_shown_is_refused(
    qtbot: QtBot,
    player: Player,
    agent: Path,
    staged: Callable[[str], Path],
    env: str,
    sentence: str,
) -> None:
    with qtbot.waitSignal(player.refused, timeout=WAIT_MS) as said:
        player.load(staged(env))
    assert sentence in said.args[0]
    assert player.state is State.EMPTY
    load(qtbot, player, agent)


def test_a_refusal_that_was_overtaken_does_not_stop_the_play(
    qtbot: QtBot, player: Player, agent: Path, tmp_path: Path
) -> None:
    refusals: list[str] = []
    player.refused.connect(refusals.append)
    load(qtbot, player, agent)
    player.play()
    player.load(tmp_path / "nowhere.safetensors")
    player.load(agent)
    pictures = watched(player)
    qtbot.waitUntil(lambda: any(p.moment.step > 1 for p in pictures), timeout=WAIT_MS)
    assert player.state is State.PLAYING
    assert not refusals


def test_a_truncated_checkpoint_is_refused_and_a_sound_one_plays_afterwards(
    qtbot: QtBot, pane: ReplayPane, agent: Path, tmp_path: Path
) -> None:
    torn = tmp_path / "torn.safetensors"
    torn.write_bytes(agent.read_bytes()[:-100])
    with qtbot.waitSignal(pane.player.refused, timeout=WAIT_MS):
        pane.player.load(torn)
    assert pane.message.isVisible()
    assert "torn.safetensors is not a readable checkpoint" in pane.message.text()
    load(qtbot, pane.player, agent)
    assert not pane.message.isVisible()
    with qtbot.waitSignal(pane.player.frame_ready, timeout=WAIT_MS):
        qtbot.mouseClick(pane.play_button, Qt.MouseButton.LeftButton)


# What is left behind ------------------------------------------------------------------------------


def test_closing_leaves_no_process_no_thread_and_no_shared_memory(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    threads = threading.active_count()
    load(qtbot, player, agent)
    player.play()
    with qtbot.waitSignal(player.frame_ready, timeout=WAIT_MS):
        pass
    assert player._link is not None
    reader = player._link.reader
    assert reader.isRunning()
    player.close()
    player.close()
    assert reader.isFinished()
    assert not renderers()
    assert threading.active_count() == threads
    assert not blocks()
    assert player.state is State.EMPTY


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")
def test_closing_ends_a_renderer_that_no_longer_listens(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    load(qtbot, player, agent)
    assert player.pid is not None
    os.kill(player.pid, signal.SIGSTOP)
    player.close()
    assert not renderers()


ORPHAN = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from studio.replay.player import Player

if __name__ == "__main__":
    app = QCoreApplication([])
    player = Player()
    player.frame_ready.connect(lambda picture: picture.moment.step == 3 and end())

    def end():
        print(player.pid, flush=True)
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), 9)
        app.quit()

    player.load(Path(sys.argv[1]))
    player.play()
    app.exec()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("end", ["killed", "quit"])
def test_a_renderer_ends_with_its_window_in_silence(tmp_path: Path, agent: Path, end: str) -> None:
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN)
    done = subprocess.run(
        [sys.executable, str(script), str(agent), end], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.returncode == (-9 if end == "killed" else 0)
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(done.stdout)).wait(10)
    assert not blocks()


IMPORTS = """
import sys, threading
from multiprocessing import Pipe
from pathlib import Path
from studio.replay import protocol
from studio.replay.render_process import main

ours, theirs = Pipe()
def drive():
    load = protocol.Load(ticket=1, path=Path(sys.argv[1]), seed=0, playing=True)
    ours.send(load)
    while not isinstance(ours.recv(), protocol.Frame):
        pass
    ours.send(protocol.Quit())
from studio.replay.ring import RingReader
threading.Thread(target=drive).start()
main(theirs, "td3_imports_")
RingReader("td3_imports_").sweep()
print(sorted(name for name in sys.modules if name.split(".")[0] in ("torch", "PySide6")))
"""


def test_the_renderer_imports_neither_torch_nor_qt(agent: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(agent)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


# Parts --------------------------------------------------------------------------------------------


def test_a_slot_is_written_again_only_after_its_release() -> None:
    ring, reader = RingWriter("td3_test_"), RingReader("td3_test_")
    try:
        picture = np.full((4, 5, 3), 7, np.uint8)
        assert ring.fit(picture) == "td3_test_0"
        reader.attach("td3_test_0")
        slots = [ring.write(picture * n) for n in range(SLOTS)]
        assert not ring.has_room
        with reader.view(slots[1], 5, 4) as view:
            assert bytes(view) == bytes([7] * 60)
        ring.release(slots[1])
        assert ring.has_room
        assert ring.write(picture) == slots[1]
        larger = np.zeros((8, 5, 3), np.uint8)
        assert ring.fit(larger) == "td3_test_1"
        reader.attach("td3_test_1")
        for _ in range(SLOTS):
            ring.write(larger)
        ring.release(slots[0])
        assert not ring.has_room, "a slot of the block before is none of this one's"
    finally:
        ring.close()
        reader.close()
    assert not blocks()


def test_a_block_that_was_never_announced_is_swept_away() -> None:
    ring, reader = RingWriter("td3_swept_"), RingReader("td3_swept_")
    ring.fit(np.zeros((2, 2, 3), np.uint8))
    reader.sweep()
    ring.close()
    assert not blocks()


@pytest.mark.parametrize(
    ("drawing_s", "speed", "shown_at_least"), [(0.005, 1.0, 95), (0.08, 1.0, 18), (0.005, 8.0, 8)]
)
def test_steps_keep_the_pace_and_slow_pictures_are_left_out(
    drawing_s: float, speed: float, shown_at_least: int
) -> None:
    time = [0.0]
    clock = Clock(lambda: time[0])
    clock.fps, clock.speed = 50.0, speed
    clock.restart()
    shown = 0
    for _ in range(100):
        time[0] += clock.wait_s()
        clock.tick()
        if clock.may_draw():
            began = clock.now()
            time[0] += drawing_s
            clock.note_drawn(began)
            shown += 1
    assert time[0] == pytest.approx(100 / 50 / speed, abs=0.1)
    assert shown_at_least <= shown <= 60 * 1.2 * time[0]


def test_an_environment_too_slow_for_the_speed_is_still_seen() -> None:
    time = [0.0]
    clock = Clock(lambda: time[0])
    clock.fps, clock.speed = 50.0, 8.0
    shown = 0
    for _ in range(100):
        time[0] += clock.wait_s() + 0.05  # the step itself
        clock.tick()
        if clock.may_draw():
            clock.note_drawn(clock.now())
            shown += 1
    assert shown >= 30


# The pane -----------------------------------------------------------------------------------------


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the program come with one agent."""
    monkeypatch.setattr(checkpoint_model, "files", lambda _: tmp_path / "resources")
    folder = tmp_path / "resources" / "agents"
    return write_agent(folder / "Pendulum-v1.safetensors", check_env(PENDULUM))


def click_row(qtbot: QtBot, pane: ReplayPane, path: Path) -> None:
    view = pane.checkpoints.view
    where = view.visualRect(pane.checkpoints.model.find(path)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_two_clicks_on_first_launch_show_a_bundled_agent_moving(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    pictures = watched(pane.player)
    click_row(qtbot, pane, bundled)
    qtbot.mouseClick(pane.play_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len({pixels(p) for p in pictures}) >= 10, timeout=WAIT_MS)
    assert pane.view.image is not None
    assert pane.title.text() == "Pendulum-v1 · 50k"
    assert pane.play_button.accessibleName() == "Pause"
    shown = [label.text() for label in pane.findChildren(QLabel)]
    assert f"step {pictures[-1].moment.step}" in shown
    assert "episode 1" in shown


def test_play_with_nothing_chosen_takes_the_bundled_agent(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
        qtbot.keyClick(pane.view, Qt.Key.Key_Space)
    assert pane.player.path == bundled
    assert pane.checkpoints.chosen() == bundled
    assert pane.player.state is State.PLAYING
    qtbot.keyClick(pane.checkpoints.view, Qt.Key.Key_Space)
    assert pane.player.state is State.PAUSED


def test_play_without_any_agent_says_how_to_get_one(
    qtbot: QtBot, pane: ReplayPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane.checkpoints.model.clear_section(checkpoint_model.Section.BUNDLED)
    qtbot.mouseClick(pane.play_button, Qt.MouseButton.LeftButton)
    assert "no saved agent yet" in pane.message.text()
    assert pane.player.state is State.EMPTY


def test_enter_on_a_row_plays_it(qtbot: QtBot, bundled: Path, pane: ReplayPane) -> None:
    pane.checkpoints.view.setCurrentIndex(pane.checkpoints.model.find(bundled))
    with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
        qtbot.keyClick(pane.checkpoints.view, Qt.Key.Key_Return)
    assert pane.player.state is State.PLAYING


def test_a_crash_offers_to_restart_the_renderer(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    load(qtbot, pane.player, bundled)
    assert not pane.renderer_button.isVisible()
    assert pane.player.pid is not None
    with qtbot.waitSignal(pane.player.crashed, timeout=WAIT_MS):
        os.kill(pane.player.pid, signal.SIGKILL)
    assert pane.message.text().endswith("Training is not affected.")
    assert pane.renderer_button.isVisible()
    with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
        qtbot.mouseClick(pane.renderer_button, Qt.MouseButton.LeftButton)
    assert not pane.renderer_button.isVisible()
    assert not pane.message.isVisible()


def test_following_the_run_loads_what_it_saves_when_the_episode_is_over(
    qtbot: QtBot, bundled: Path, pane: ReplayPane, tmp_path: Path
) -> None:
    saved = tmp_path / "runs" / "run" / "checkpoints" / "step_000050000.safetensors"
    write_agent(saved, check_env(PENDULUM))
    load(qtbot, pane.player, bundled)
    pane.set_current_run(saved.parent.parent)
    pane.note_saved(saved, 50_000, 118.2)
    assert pane.player.path == bundled
    pane.follow_check.setChecked(True)
    pane.speed_combo.setCurrentIndex(5)
    pane.player.play()
    pictures = watched(pane.player)
    with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
        pane.note_saved(saved, 50_000, 118.2)
    assert any(picture.moment.over for picture in pictures)
    assert pane.chip.text() == "time limit"
    assert pane.checkpoints.chosen() == saved


def test_a_hidden_pane_draws_nothing_and_goes_on_when_it_is_shown(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    load(qtbot, pane.player, bundled)
    pane.player.play()
    pane.hide()
    assert pane.player.state is State.PAUSED
    pane.show()
    assert pane.player.state is State.PLAYING


def test_controls_reach_the_player(qtbot: QtBot, bundled: Path, pane: ReplayPane) -> None:
    load(qtbot, pane.player, bundled)
    pictures = watched(pane.player)
    qtbot.mouseClick(pane.step_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(pictures) == 1, timeout=WAIT_MS)
    assert pictures[0].moment.step == 1
    pane.speed_combo.setCurrentIndex(0)
    assert pane.player.speed == 0.25
    pane.seed_spin.setValue(5)
    assert pane.player.seed == 5
    qtbot.waitUntil(lambda: len(pictures) == 2, timeout=WAIT_MS)
    assert pictures[1].moment.step == 0
    qtbot.mouseClick(pane.restart_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(pictures) == 3, timeout=WAIT_MS)
    assert pixels(pictures[1]) == pixels(pictures[2])


def test_the_pane_fits_a_narrow_dock_and_every_control_has_a_name(pane: ReplayPane) -> None:
    size = pane.minimumSizeHint()
    assert size.width() <= 300
    assert size.height() <= 560
    for name in ("restart_button", "play_button", "step_button", "speed_combo", "seed_spin"):
        control = getattr(pane, name)
        assert control.objectName() == f"replay_{name}"
        assert control.accessibleName()
        assert control.toolTip()


@given(
    picture=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    box=st.tuples(st.integers(1, 90), st.integers(1, 90)),
)
def test_a_picture_fits_its_box_as_qt_would_fit_it(
    picture: tuple[int, int], box: tuple[int, int]
) -> None:
    wanted = QSize(*picture).scaled(QSize(*box), Qt.AspectRatioMode.KeepAspectRatio)
    wide, high = max(wanted.width(), 1), max(wanted.height(), 1)
    colours = np.full((picture[1], picture[0], 3), (200, 100, 50), np.uint8)
    scaled = fitted(colours, *box)
    assert scaled.shape == (high, wide, 3)
    assert np.abs(scaled.astype(int) - (200, 100, 50)).max() <= 6
