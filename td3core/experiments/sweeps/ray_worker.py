"""Trains a run on a node of a Ray cluster, in a folder of the node if none is shared."""

import contextlib
import io
import os
import tarfile
import tempfile
import threading
from pathlib import Path
from typing import Any

from td3core import __version__
from td3core.envs import trust
from td3core.experiments.jobs import CODEC, ResumedRun, perform
from td3core.experiments.sweeps.executor import PATIENCE_S
from td3core.protocol.control import Control
from td3core.protocol.events import Event, Failed, Saved
from td3core.runs.layout import DESCRIPTION
from td3core.system.files import write_atomically
from td3core.text import Text

_LEFT_OUT = ("lock", "lock.json", "notes.json")
TABLES = ("episodes.csv", "evaluations.csv")
"""What the objective of a sweep is computed from."""


class RayWorker:
    """Trains one run; Ray makes it an actor. Other methods answer while :meth:`train` blocks."""

    def __init__(self, *, restarted: bool = False) -> None:
        """``restarted``: Ray has restarted it; the files of its first call are out of date."""
        self._control = Control()
        self._files_are_old = restarted
        self._folder: Path | None = None
        self._snapshot: bytes | None = None
        self._lock = threading.Lock()

    def train(
        self,
        version: str,
        run: str,
        steps: int,
        description: bytes,
        files: bytes | None,
        modules: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """Train a run to its end.

        Args:
            version: Version of the calling studio; a node with another version refuses.
            run: Its folder on the sweep's own machine.
            steps: Its length in the sweep.
            description: The contents of its ``run.toml``.
            files: The packed folder, if the node has no access to it.
            modules: The modules that the user allowed, wherever they are on this node.

        Returns:
            ``event``, the last one of the run as a line; or ``needs_files``, if the node does not
            see the folder and has no current copy of it. ``files`` is the packed folder at the end
            if it is not shared.
        """
        if version != __version__:
            return {"event": _refusal(version)}
        trust.allow_named(modules)
        path = Path(run)
        if _same(path / DESCRIPTION, description):
            return {"event": self._train(path, steps)}
        if files is None or self._files_are_old:
            self._files_are_old = False
            return {"needs_files": True}
        with tempfile.TemporaryDirectory(prefix="td3-studio-run-") as folder:
            path = self._folder = Path(folder) / path.name
            unpack(files, path)
            event = self._train(path, steps)
            self._folder = None
            return {"event": event, "files": pack(path)}

    def _train(self, run: Path, steps: int) -> bytes:
        job = ResumedRun(run=run, steps=steps, patience_s=PATIENCE_S)
        return CODEC.encode(perform(job, self._control, self._on_event))

    def stop(self) -> None:
        """Ask the run to save and end."""
        self._control.stop()

    def news(self) -> tuple[bytes | None, dict[str, bytes]]:
        """Return the packed folder as of its last checkpoint, if new, and the tables by name."""
        with self._lock:
            snapshot, self._snapshot = self._snapshot, None
        tables = {}
        if self._folder is not None:
            # The evaluations first: no episode before them may be missing.
            for name in reversed(TABLES):
                with contextlib.suppress(OSError):
                    tables[name] = (self._folder / name).read_bytes()
        return snapshot, tables

    def _on_event(self, event: Event) -> None:
        # In the run's own thread: meanwhile nothing is written to the folder.
        if isinstance(event, Saved) and self._folder is not None:
            packed = pack(self._folder)
            with self._lock:
                self._snapshot = packed


def _refusal(version: str) -> bytes:
    message = Text(
        "This node has TD3 Studio {here}, the sweep {there}: install the same version.",
        here=__version__,
        there=version,
    )
    return CODEC.encode(Failed(message=message, details="", request=True))


def _same(file: Path, contents: bytes) -> bool:
    try:
        return file.read_bytes() == contents
    except OSError:
        return False


def pack(folder: Path) -> bytes:
    """Return the files of a run as the bytes of a tar archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            plain = path.is_file() and not path.is_symlink()
            if plain and path.name not in _LEFT_OUT and not path.name.startswith("."):
                archive.add(path, path.relative_to(folder).as_posix())
    return data.getvalue()


def unpack(data: bytes, folder: Path) -> None:
    """Write packed files to a folder, each completely or not at all.

    Raises:
        OSError: the folder cannot be written.
        ValueError: a file would be outside the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    root = os.fspath(folder.resolve())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            target = (folder / member.name).resolve()
            if not member.isfile() or os.path.commonpath([root, target]) != root:
                raise ValueError(f"{member.name} does not belong into a run")
            file = archive.extractfile(member)
            assert file is not None
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, file.read())
