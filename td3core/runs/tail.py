"""Reads a growing text file in pieces of complete lines."""

from dataclasses import dataclass
from pathlib import Path

from td3core.system.regular_files import open_regular

_MOST_BYTES = 4 * 2**20
"""Bytes read at once."""
_LONGEST_LINE = 2**20
_SAMPLE_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The new part of a file."""

    text: str = ""
    """Complete lines with their line endings."""
    rewritten: bool = False
    """True if the file no longer begins with the text read before: ``text`` is from its start."""
    more: bool = False
    """True if there is already more to read."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines without line endings."""
        return tuple(self.text.split("\n")[:-1])


class Tail:
    """Remembers how far one file was read.

    A truncated or replaced file is recognised by the last bytes read, which are read again each
    time. Times and inode numbers are ignored: on network drives they are unreliable.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._sample = b""
        """The bytes before the offset."""
        self._skipping = False

    def read(self) -> Piece:
        """Return the lines since the last call; none if the file cannot be read."""
        try:
            with open_regular(self._path) as file:
                file.seek(self._offset - len(self._sample))
                data = file.read(len(self._sample) + _MOST_BYTES)
                rewritten = not data.startswith(self._sample)
                if rewritten:
                    self.restart()
                    file.seek(0)
                    data = file.read(_MOST_BYTES)
        except OSError:
            # Deleted, or no regular file any more: it may come back.
            return self._lost()
        return self._piece(data[len(self._sample) :], rewritten=rewritten)

    def restart(self) -> None:
        """Read from the start next time."""
        self._offset, self._sample, self._skipping = 0, b"", False

    def _lost(self) -> Piece:
        rewritten = self._offset > 0
        self.restart()
        return Piece(rewritten=rewritten)

    def _piece(self, data: bytes, *, rewritten: bool) -> Piece:
        whole, newline, rest = data.rpartition(b"\n")
        more = len(data) >= _MOST_BYTES
        if not newline and len(rest) > _LONGEST_LINE:
            # No run writes such a line: it is damaged, and skipped.
            self._advance(rest)
            self._skipping = True
            return Piece(rewritten=rewritten, more=more)
        if not newline:
            return Piece(rewritten=rewritten)
        whole += newline
        self._advance(whole)
        if self._skipping:
            whole = whole.partition(b"\n")[2]
            self._skipping = False
        return Piece(text=whole.decode("utf-8", "replace"), rewritten=rewritten, more=more)

    def _advance(self, data: bytes) -> None:
        self._offset += len(data)
        self._sample = (self._sample + data)[-_SAMPLE_BYTES:]
