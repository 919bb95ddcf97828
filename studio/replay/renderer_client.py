"""One renderer process, and the thread that listens to it."""

import atexit
import logging
import multiprocessing
import pickle
import secrets
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from PySide6.QtCore import QThread, Signal
from PySide6.QtGui import QImage

from studio.replay.renderer import protocol
from studio.replay.renderer.frame_ring import CHANNELS, RingReader
from td3core.evaluation.rollout import RolloutStep
from td3core.system.child_process import spawn

log = logging.getLogger(__name__)

_QUIT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One drawn moment of an episode; the image owns its pixels."""

    image: QImage
    episode: int
    """Counted from 0."""
    moment: RolloutStep


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedFrame:
    """A picture, and the slot that it was copied from."""

    picture: Picture
    slot: int


class RendererClient:
    """One renderer process with the thread that listens to it."""

    def __init__(self) -> None:
        """Start the process.

        Raises:
            OSError: the system has no room for another one.
        """
        # Not at the top: it brings Gymnasium along, which the window need not wait for.
        from studio.replay.renderer import process

        # Short: macOS allows thirty characters for the name of a block.
        prefix = f"td3_{secrets.token_hex(6)}_"
        self._connection, theirs = multiprocessing.get_context("spawn").Pipe()
        self.exit_code: int | None = None
        try:
            self.process = spawn("td3-renderer", process.main, theirs, prefix)
        except BaseException:
            self._connection.close()
            raise
        finally:
            # Or the pipe would never close at the renderer's end.
            theirs.close()
        self.reader = Reader(self._connection, self.process.sentinel, prefix)
        # Also keeps the thread from being destroyed while it runs, which would end the program.
        atexit.register(self.close)

    def send(self, command: protocol.Command) -> None:
        """Send a command; to a dead renderer it is lost, and the reader tells of the death."""
        try:
            # As send does, which would first make a pickler that knows of sockets and the like.
            self._connection.send_bytes(pickle.dumps(command))
        except OSError:
            log.debug("the renderer no longer listens")

    def close(self) -> None:
        """End process and thread, gently if they are quick."""
        atexit.unregister(self.close)
        self.send(protocol.Quit())
        self.process.join(_QUIT_S)
        if self.process.is_alive():
            # It keeps nothing that could be lost.
            self.process.kill()
            self.process.join()
        self.exit_code = self.process.exitcode
        # With the process gone the pipe is at its end, and so is the thread.
        self.reader.wait()
        self.process.close()
        self._connection.close()


class Reader(QThread):
    """Blocks on the pipe and passes on what comes, pictures as images of their own."""

    replied = Signal(object, object)
    lost = Signal(object)

    def __init__(self, connection: Connection, sentinel: int, prefix: str) -> None:
        super().__init__()
        self._connection = connection
        self._sentinel = sentinel
        self._ring = RingReader(prefix)

    def run(self) -> None:
        """Listen until the pipe is at its end."""
        try:
            while True:
                self._pass_on(self._connection.recv())
        except (EOFError, OSError):
            # Let the process be gone entirely before its exit status is asked for.
            wait([self._sentinel], _QUIT_S)
        finally:
            self._ring.sweep()
            self.lost.emit(self)

    def _pass_on(self, reply: protocol.Reply) -> None:
        match reply:
            case protocol.Block(name=name):
                self._ring.attach(name)
            case protocol.Frame():
                picture = Picture(
                    image=self._image(reply), episode=reply.episode, moment=reply.moment
                )
                self.replied.emit(self, ReceivedFrame(picture=picture, slot=reply.slot))
            case _:
                self.replied.emit(self, reply)

    def _image(self, frame: protocol.Frame) -> QImage:
        with self._ring.view(frame.slot, frame.width, frame.height) as view:
            stride = CHANNELS * frame.width
            shared = QImage(view, frame.width, frame.height, stride, QImage.Format.Format_RGB888)
            # A copy, in the format that is painted fastest.
            image = shared.convertToFormat(QImage.Format.Format_RGB32)
            # It holds on to the view, which could then not be released.
            del shared
        return image
