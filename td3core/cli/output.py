"""Standard output and error that never end a command, whatever happens to them.

A full disk behind a redirection, a reader that exited or a closed terminal must not end a run.
Output that cannot be written is dropped, and a command whose result was lost fails at its end.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


class TolerantStream:
    """A text stream whose writes never raise; the latest failure is kept.

    A failed write is retried with the next one: a full disk may have room later.
    """

    def __init__(self, stream: TextIO | None) -> None:
        """``stream`` is None if it was closed before the program started."""
        self._stream = stream
        self.failure: Exception | None = None

    def write(self, text: str) -> int:
        """Write ``text`` if possible."""
        with self._tolerating():
            try:
                self._open().write(text)
            except UnicodeEncodeError:
                stream = self._open()
                escaped = text.encode(stream.encoding or "ascii", "backslashreplace")
                stream.write(escaped.decode(stream.encoding or "ascii"))
        return len(text)

    def flush(self) -> None:
        """Flush if possible."""
        if self._stream is not None:
            with self._tolerating():
                self._stream.flush()

    def close(self) -> None:
        """Stay open for the command's result: only an environment would close this."""
        self.flush()

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        try:
            return self._stream is not None and self._stream.isatty()
        except (OSError, ValueError):
            return False

    def give_up(self) -> None:
        """Discard what cannot be flushed: Python flushes standard streams once more at exit."""
        stream = self._stream
        if stream is None:
            return
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            return
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)

    def _open(self) -> TextIO:
        if self._stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._stream

    @contextlib.contextmanager
    def _tolerating(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, RuntimeError) as problem:
            # ValueError: it is closed. RuntimeError: a signal's handler writes during a write.
            self.failure = problem

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the stream."""
        return getattr(self._stream, name)


@contextlib.contextmanager
def tolerant_output() -> Iterator[tuple[TolerantStream, TolerantStream]]:
    """Make standard output and standard error tolerant, for all code that writes to them."""
    _occupy_standard_descriptors()
    before = sys.stdout, sys.stderr
    streams = TolerantStream(sys.stdout), TolerantStream(sys.stderr)
    sys.stdout, sys.stderr = cast("tuple[TextIO, TextIO]", streams)
    try:
        yield streams
    finally:
        for stream in streams:
            stream.give_up()
        sys.stdout, sys.stderr = before


def _occupy_standard_descriptors() -> None:
    """Open closed descriptors (``2>&-``): else a file of the run could become standard error."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free descriptor is used: this one, barring a race.
            os.open(os.devnull, os.O_RDWR)
