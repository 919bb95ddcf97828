"""Ctrl-C ends a command whose environment hangs in the middle, whatever it hangs in."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import psutil
import pytest

from td3core.config import EnvChoice
from td3core.envs.trust import with_user_consent
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.training.launch import resume
from tests.support.marks import release
from tests.support.stranger import Stranger
from tests.support.waiting import eventually
from tests.td3core.cli.test_commands import small
from tests.td3core.helpers import finish

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="sends signals, and reads /proc"),
]

NAME = "deaf_env"
ENV = EnvChoice(f"{NAME}:Slide")
KEEPS_INTERPRETER = "in C code that keeps the interpreter"
REPLACES_INTERRUPT = "and replaces the interrupt by an error"
HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"
"""Sequences that hide and show the cursor of a terminal."""
SOON_S = 15.0
"""It takes a few seconds, except on a busy machine."""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stranger]:
    stranger = Stranger(tmp_path, monkeypatch)
    monkeypatch.setenv("PYTHONPATH", str(stranger.folder), prepend=os.pathsep)
    yield stranger
    stranger.leave(NAME)
    for each in ("StrangerSlide-v0", "Deaf-v0"):
        gym.registry.pop(each, None)


class Command:
    """A command in a process of its own, whose standard error is read."""

    def __init__(self, *words: str) -> None:
        # A shell tells what it starts in the background to ignore Ctrl-C, which is inherited.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        program = [sys.executable, "-m", "td3core", *words]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True)
        signal.signal(signal.SIGINT, before)
        self.lines: list[str] = []
        self._said = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def press(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def wait_for(self, text: str) -> None:
        with self._said:
            assert self._said.wait_for(lambda: text in "".join(self.lines), SOON_S), self.lines

    def wait_until_noticed(self, number: int = signal.SIGINT) -> None:
        """Wait until the system has told the process, which does not react."""
        status = Path(f"/proc/{self.process.pid}/status")

        def caught() -> int:
            return int(status.read_text().split("SigCgt:")[1].split()[0], 16) & 1 << number - 1

        eventually(lambda: not caught(), SOON_S)

    def end(self) -> int:
        """Wait for its end; return its status."""
        try:
            return self.process.wait(SOON_S)
        finally:
            self.process.kill()
            self._reader.join()
            assert self.process.stdout is not None
            if not self.process.stdout.closed:
                with self.process.stdout as stream:
                    self.printed = stream.read()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                with self._said:
                    self.lines.append(line)
                    self._said.notify_all()


@contextlib.contextmanager
def hanging(stranger: Stranger, *words: str) -> Iterator[Command]:
    """Run a command until its environment hangs."""
    command = Command(*words)
    try:
        eventually(lambda: stranger.hangs or command.process.poll() is not None, 240)
        assert command.process.poll() is None, command.lines
        yield command
    finally:
        command.end()


@pytest.mark.parametrize("how", ["in Python", *release("in C code", KEEPS_INTERPRETER)])
def test_a_second_ctrl_c_ends_a_run_whose_environment_hangs_at_a_late_step(
    stranger: Stranger, runs_dir: Path, how: str
) -> None:
    stranger.write_deaf(NAME, "step", after=150, how=how)
    options = small(env_check="false", checkpoint_interval=100, eval_interval=0)
    words = ["train", ENV.env_id, "--steps", "1000", "--runs-dir", str(runs_dir), *options]
    with hanging(stranger, *words, "--json") as command:
        command.press()
        if how != KEEPS_INTERPRETER:
            command.wait_for("No answer: the environment may hang. Ctrl-C again ends the run")
        else:
            command.wait_until_noticed()
        command.press()
        assert command.end() == (-signal.SIGINT if how == KEEPS_INTERPRETER else 130)
    if how != KEEPS_INTERPRETER:
        assert json.loads(command.printed) == {"error": "Interrupted."}
    (run,) = runs_dir.iterdir()
    stranger.write(NAME)
    with_user_consent(ENV)
    outcome = resume(run, Control(), lambda _: None, steps=200)
    assert isinstance(outcome, Ended)
    assert outcome.env_steps == 200


@pytest.mark.parametrize("how", [*release("in Python", KEEPS_INTERPRETER), "in C code"])
# The command makes it three times before its runs do: in a process of its own, and to ask for its
# sizes.
@pytest.mark.parametrize("after", [*release(0), 3], ids=["in the command", "in its runs"])
def test_one_ctrl_c_ends_a_group_whose_environment_is_never_made(
    stranger: Stranger, runs_dir: Path, after: int, how: str
) -> None:
    stranger.write_deaf(NAME, "__init__", after=after, how=how, everywhere=True)
    options = ["--seeds", "2", "--jobs", "2", "--steps", "1000", "--runs-dir", str(runs_dir)]
    with hanging(stranger, "train", ENV.env_id, *options, *small(env_check="false")) as command:
        children = psutil.Process(command.process.pid).children(recursive=True)
        assert children
        assert any("Group" in line for line in command.lines) == bool(after)
        pressed = time.monotonic()
        command.press()
        assert command.end() == (0 if after else 130)
        assert time.monotonic() - pressed < SOON_S
        assert psutil.wait_procs(children, timeout=SOON_S)[1] == []


@pytest.mark.parametrize(
    "how", [*release("in Python", "in C code", REPLACES_INTERRUPT), KEEPS_INTERPRETER]
)
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("verify", signal.SIGINT),
        *(
            pytest.param(*each, marks=pytest.mark.release)
            for each in (
                ("eval", signal.SIGINT),
                ("film", signal.SIGINT),
                ("check", signal.SIGINT),
                ("film", signal.SIGTERM),
            )
        ),
    ],
)
def test_a_signal_ends_a_command_whose_environment_hangs_at_a_late_step(
    stranger: Stranger, tmp_path: Path, runs_dir: Path, name: str, how: str, number: int
) -> None:
    stranger.write(NAME)
    words = [ENV.env_id]
    if name != "check":
        words = [str(finish(runs_dir, ENV.env_id, checkpoint_interval=30).run), "--trust-env"]
    words += {"eval": ["--episodes", "20"], "film": ["--out", str(tmp_path / "film.gif")]}.get(
        name, []
    )
    words += ["--episodes-per", "20"] if name == "film" else []
    words.append("--json")
    stranger.write_deaf(NAME, "step", after=120, how=how)
    with hanging(stranger, name, *words) as command:
        command.press(number)
        if how == KEEPS_INTERPRETER:
            command.wait_until_noticed(number)
            command.press(number)
        assert command.end() == (-number if how == KEEPS_INTERPRETER else 130)
        if how != KEEPS_INTERPRETER:
            assert json.loads(command.printed) == {"error": "Interrupted."}


class Terminal:
    """A command in a terminal of its own, and all that it wrote there."""

    def __init__(self, *words: str) -> None:
        ours, theirs = pty.openpty()
        program = [sys.executable, "-m", "td3core", *words]
        env = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = subprocess.Popen(program, **streams, env=env, start_new_session=True)
        os.close(theirs)
        self.said = ""
        self._reader = threading.Thread(target=self._read, args=(ours,))
        self._reader.start()

    def wait_for(self, *texts: str) -> None:
        """Wait until one of `texts` was written; end the command if none comes."""
        end = time.monotonic() + 240
        while not any(text in self.said for text in texts):
            if time.monotonic() > end or self.process.poll() is not None:
                self._kill()
                pytest.fail(f"none of {texts} in {self.said[-2000:]}")
            time.sleep(0.02)

    def end(self) -> int:
        try:
            return self.process.wait(SOON_S)
        finally:
            self._kill()

    def _kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def _read(self, ours: int) -> None:
        with open(ours, "rb", buffering=0) as stream, contextlib.suppress(OSError):
            while piece := stream.read(4096):
                self.said += piece.decode(errors="replace")


def sentences(said: str) -> list[str]:
    """Return the lines of a terminal less those of its bar, which moves."""
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", said).replace("\r", "\n").split("\n")
    return [line.strip() for line in lines if line.strip()]


def test_sigterm_saves_a_run_and_gives_the_terminal_back(runs_dir: Path) -> None:
    options = ["--steps", "1000000", "--no-eval", "--runs-dir", str(runs_dir), *small()]
    terminal = Terminal("train", "Pendulum-v1", *options)
    # The warm-up of these few steps can be over before the bar is drawn for the first time.
    terminal.wait_for("warm-up", "learning")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 0, terminal.said
    said = sentences(terminal.said)
    assert said.count("Saving and ending.") == 1
    assert any(line.startswith("stopped and saved at step") for line in said), said
    assert "Traceback" not in terminal.said
    assert terminal.said.rindex(SHOWN) > terminal.said.rindex(HIDDEN)
    (run,) = runs_dir.iterdir()
    assert (run / "checkpoints" / "last.safetensors").is_file()


def test_sigterm_ends_a_film_with_one_sentence_and_gives_the_terminal_back(
    runs_dir: Path, tmp_path: Path
) -> None:
    run = finish(runs_dir, "Pendulum-v1", checkpoint_interval=30).run
    film = tmp_path / "film.gif"
    terminal = Terminal("film", str(run), "--out", str(film), "--episodes-per", "1000")
    terminal.wait_for(HIDDEN)
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 130, terminal.said
    assert sentences(terminal.said).count("Interrupted.") == 1, terminal.said
    assert "Traceback" not in terminal.said
    assert terminal.said.rindex(SHOWN) > terminal.said.rindex(HIDDEN)
    assert [*tmp_path.glob("*film*")] == []


def status_after(work: str, tmp_path: Path) -> int:
    """Return the exit status of a program that works, and asks for 130."""
    (tmp_path / "program.py").write_text(
        "import _imp, signal\n"
        "from td3core.cli import interrupts\n"
        "interrupts._PATIENCE_S = interrupts._CLEANING_S = interrupts._FAREWELL_S = 0.1\n"
        "with interrupts.ending_what_hangs():\n"
        "    try:\n"
        f"        {work}\n"
        "    except KeyboardInterrupt:\n"
        "        signal.pause() if _imp.lock_held() else None\n"
        "raise SystemExit(130)\n"
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([sys.executable, "-m", "program"], cwd=tmp_path)
    signal.signal(signal.SIGINT, before)
    try:
        return process.wait(SOON_S)
    finally:
        process.kill()
        process.wait()


def test_ctrl_c_leaves_the_exit_status_even_while_python_executes_a_string(tmp_path: Path) -> None:
    assert status_after("exec('signal.raise_signal(signal.SIGINT)')", tmp_path) == 130


def test_a_process_that_hangs_ends_even_if_it_keeps_others_from_importing(tmp_path: Path) -> None:
    # The first line that is printed imports a part of Rich.
    assert status_after("_imp.acquire_lock(); signal.raise_signal(signal.SIGINT)", tmp_path) == 130
