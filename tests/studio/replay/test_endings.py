"""Nothing is left behind when a player, a window or a renderer ends."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from studio.replay.player import Player, PlayerState
from studio.replay.renderer import protocol
from studio.replay.renderer_client import Reader
from td3core.system.child_process import LinePipe
from tests.studio.replay.scenes import (
    WAIT_MS,
    blocks,
    load,
    renderers,
)


def test_closing_leaves_no_process_no_thread_and_no_shared_memory(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    threads = threading.active_count()
    load(qtbot, player, agent)
    player.play()
    with qtbot.waitSignal(player.frame_ready, timeout=WAIT_MS):
        pass
    assert player._client is not None
    reader = player._client.reader
    assert reader.isRunning()
    player.close()
    player.close()
    assert reader.isFinished()
    assert not renderers()
    assert threading.active_count() == threads
    assert not blocks()
    assert player.state is PlayerState.EMPTY


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")
def test_closing_ends_a_renderer_that_no_longer_listens(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    load(qtbot, player, agent)
    assert player.pid is not None
    os.kill(player.pid, signal.SIGSTOP)
    player.close()
    assert not renderers()


def test_a_reader_ends_though_another_process_holds_its_pipe(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.replay.renderer_client._LOOK_S", 0.05)
    ours, held_open = multiprocessing.Pipe()
    ending, sentinel = os.pipe()
    pipe = LinePipe(ours, protocol.CODEC)
    reader, heard = Reader(pipe, sentinel, "td3_none_"), list[object]()
    reader.replied.connect(lambda _, reply: heard.append(reply))
    last = protocol.Crashed(message="the last words", details="")
    try:
        held_open.send_bytes(protocol.CODEC.encode(last))
        reader.start()
        reader.requestInterruption()
        assert reader.wait(5_000)
        qtbot.waitUntil(lambda: heard == [last])
    finally:
        held_open.close()
        reader.wait()
        ours.close()
        os.close(ending)
        os.close(sentinel)


ORPHAN = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from studio.replay.player import Player

if __name__ == "__main__":
    app = QCoreApplication([])
    player, ending = Player(), []
    player.frame_ready.connect(lambda picture: picture.step.number >= 3 and end())

    def end():
        # More frames may be on their way.
        if ending:
            return
        ending.append(True)
        print(player.pid, flush=True)
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), 9)
        app.quit()

    player.load(Path(sys.argv[1]))
    player.play()
    app.exec()
"""


@pytest.mark.slow
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
from studio.replay.renderer import protocol
from studio.replay.renderer.start import main
from studio.replay.renderer.heartbeat import new_signs
from td3core.system.child_process import LinePipe

ours, theirs = Pipe()
pipe = LinePipe(ours, protocol.CODEC)
def drive():
    load = protocol.Load(ticket=1, path=Path(sys.argv[1]), seed=0, playing=True)
    pipe.send(load)
    while not isinstance(pipe.receive(), protocol.Drawn):
        pass
    pipe.send(protocol.Quit())
from studio.replay.renderer.frame_ring import RingReader
threading.Thread(target=drive).start()
main(theirs, "td3_imports_", new_signs(), {})
RingReader("td3_imports_").sweep()
print(sorted(name for name in sys.modules if name.split(".")[0] in ("torch", "PySide6")))
"""


@pytest.mark.slow
def test_the_renderer_imports_neither_torch_nor_qt(agent: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(agent)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
