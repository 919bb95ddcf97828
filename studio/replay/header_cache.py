"""Headers of checkpoint files, read in the background on first use."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.session.agents import Stamp
from studio.tasks.background_task import BackgroundTask, Report, Stopped
from td3core import checkpoint
from td3core.checkpoint import Header
from td3core.errors import RequestError, unreadable
from td3core.evaluation.bundled import bundled_evaluation
from td3core.text import Text

_Found = tuple[Path, int, Header | Text | str]


class HeaderCache(QObject):
    """Reads a header once per version of a file."""

    known = Signal(Path)
    """The header of this file has been read."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._headers: dict[Path, Header | Text | str] = {}
        self._wanted: list[Path] = []
        self._being_read: set[Path] = set()
        self._stamps: dict[Path, Stamp] = {}
        self._versions: dict[Path, int] = {}
        """How often each file was replaced: headers of older versions are dropped."""
        self._reader = BackgroundTask("read-headers", self)
        self._reader.reported.connect(self._on_read)
        self._reader.finished.connect(self._on_finished)

    def look_up(self, path: Path) -> Header | Text | str | None:
        """Return a file's header, or why it cannot be read; None while it is being read."""
        found = self._headers.get(path)
        if found is None and path not in self._being_read:
            self._being_read.add(path)
            self._wanted.append(path)
            self._read_wanted()
        return found

    def note_version(self, path: Path, stamp: Stamp) -> None:
        """Note the current stamp of a file; drop the cached header if it has changed."""
        if self._stamps.get(path, stamp) != stamp:
            self.forget(path)
        self._stamps[path] = stamp

    def forget(self, path: Path) -> None:
        """Forget the header of a replaced file: read it again on next use."""
        self._stamps.pop(path, None)
        self._versions[path] = self._versions.get(path, 0) + 1
        self._headers.pop(path, None)
        self._being_read.discard(path)

    def stop(self) -> None:
        """Stop reading."""
        self._reader.cancel()

    def _read_wanted(self) -> None:
        if self._reader.busy or not self._wanted:
            return
        batch = [(path, self._versions.get(path, 0)) for path in self._wanted]
        self._wanted = []

        def read(report: Report, stopped: Stopped) -> None:
            for path, version in batch:
                if stopped():
                    return
                report((path, version, _read(path)))

        self._reader.start(read)

    @Slot(object)
    def _on_read(self, found: _Found) -> None:
        path, version, header = found
        if version == self._versions.get(path, 0):
            self._headers[path] = header
            self._being_read.discard(path)
            self.known.emit(path)

    @Slot()
    def _on_finished(self) -> None:
        self._read_wanted()


def _read(path: Path) -> Header | Text | str:
    try:
        header = checkpoint.read_header(path)
        judged = bundled_evaluation(path)
        return header if judged is None else replace(header, evaluation=judged)
    except RequestError as problem:
        return problem.message
    except OSError as problem:
        return unreadable(Path(path.name), problem).message
