"""The client of the renderer process, with a thread for each direction."""

import atexit
import contextlib
import queue
import secrets
import threading
from collections.abc import Mapping
from multiprocessing.connection import wait

from PySide6.QtCore import QThread, Signal
from PySide6.QtGui import QImage

from studio.replay.renderer import protocol, start
from studio.replay.renderer.frame_ring import CHANNELS, RingReader
from studio.replay.renderer.heartbeat import new_signs
from td3core.system.child_process import ChildProcess, LinePipe, UpdatedError
from td3core.text import Text

_QUIT_S = 1.0
_LOOK_S = 1.0


class RendererClient(ChildProcess):
    """One renderer process with a thread that sends commands and one that reads the replies."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        """Start the process with these environment variables besides the usual ones.

        Raises:
            OSError: the system cannot start another process.
        """
        # Short, because macOS limits the names of shared memory to thirty characters.
        prefix = f"td3_{secrets.token_hex(6)}_"
        self.signs = new_signs()
        self._code: int | None = None
        work = (prefix, self.signs, dict(variables))
        super().__init__("td3-renderer", protocol.CODEC, start.main, *work)
        self.reader = Reader(self.pipe, self._process.sentinel, prefix)
        self._outbox: queue.SimpleQueue[protocol.Command | None] = queue.SimpleQueue()
        # A daemon: an orphan of an environment may keep a full pipe open forever.
        self._writer = threading.Thread(target=self._write, name="write-renderer", daemon=True)
        self._writer.start()
        # Also keeps a running QThread from being destroyed, which would abort the program.
        atexit.register(self.stop)

    @property
    def pid(self) -> int | None:
        """Process id of the renderer."""
        return self._process.pid

    @property
    def ending(self) -> Text:
        """How the process ended."""
        if self._code is not None and self._code < 0:
            return Text("signal {number}", number=-self._code)
        return Text("exit status {number}", number=self._code)

    def send(self, command: protocol.Command) -> None:
        """Queue a command; it is dropped if the renderer has died, which the reader reports.

        Never waits: a hanging renderer reads nothing, so its pipe fills up.
        """
        self._outbox.put(command)

    def _write(self) -> None:
        while (command := self._outbox.get()) is not None:
            with contextlib.suppress(OSError):
                self.pipe.send(command)
        # Here, not in stop(): a descriptor closed during a write may be another file's by then.
        self.close_pipe()

    def stop(self, *, kill: bool = False) -> None:
        """End process and threads; kill the process at once, or if it does not end in time."""
        atexit.unregister(self.stop)
        if not kill:
            self.send(protocol.Quit())
            self._process.join(_QUIT_S)
        if self._process.is_alive():
            # The process holds no data that could be lost.
            self._process.kill()
            self._process.join(_QUIT_S)
        self._code = self._process.exitcode
        # The pipe closes with the process, unless an environment left a child that holds it open.
        self.reader.requestInterruption()
        self.reader.wait()
        # A process that waits for a graphics driver cannot even be killed.
        if self._code is not None:
            self._process.close()
        self._outbox.put(None)
        self._writer.join(_QUIT_S)


class Reader(QThread):
    """Reads replies from the pipe and emits them, pictures as independent images."""

    replied = Signal(object, object)
    lost = Signal(object)

    def __init__(self, pipe: LinePipe, sentinel: int, prefix: str) -> None:
        super().__init__()
        self._pipe = pipe
        self._sentinel = sentinel
        self._ring = RingReader(prefix)

    def run(self) -> None:
        """Read until the pipe is closed, or empty after an interruption was requested."""
        try:
            while True:
                if self._pipe.connection.poll(_LOOK_S):
                    self._emit_reply(self._pipe.receive())
                elif self.isInterruptionRequested():
                    break
        except (EOFError, OSError):
            # Wait for the process to end, so that its exit status is known.
            wait([self._sentinel], _QUIT_S)
        except UpdatedError as problem:
            self._emit_reply(protocol.Crashed(message=str(problem), details=""))
        finally:
            self._ring.sweep()
            self.lost.emit(self)

    def _emit_reply(self, reply: protocol.Reply) -> None:
        match reply:
            case protocol.Block(name=name):
                self._ring.attach(name)
            case protocol.Drawn(frame=frame):
                shown = frame._replace(images=self._images(reply))
                self.replied.emit(self, reply._replace(frame=shown))
            case _:
                self.replied.emit(self, reply)

    def _images(self, drawn: protocol.Drawn) -> tuple[QImage, ...]:
        """Return the picture of each agent."""
        count = max(1, len(drawn.frame.steps))
        stride, width = CHANNELS * drawn.width, drawn.width // count
        images = []
        with self._ring.view(drawn.slot, drawn.width, drawn.height) as view:
            for at in range(count):
                with view[CHANNELS * width * at :] as part:
                    kind = QImage.Format.Format_RGB888
                    shared = QImage(part, width, drawn.height, stride, kind)
                    # A copy, in the format that Qt paints fastest.
                    images.append(shared.convertToFormat(QImage.Format.Format_RGB32))
                    # The QImage refers to the part, which could not be released otherwise.
                    del shared
        return tuple(images)


def image_of(captured: protocol.Captured) -> QImage:
    """Return a captured picture as an image that owns its pixels."""
    height, width, _ = captured.pixels.shape
    stride, kind = CHANNELS * width, QImage.Format.Format_RGB888
    return QImage(captured.pixels.tobytes(), width, height, stride, kind).copy()
