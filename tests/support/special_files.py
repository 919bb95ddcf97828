"""Ways to put something in the place of a file of a run that is no plain file, or a huge one."""

import contextlib
import os
import socket
from pathlib import Path

from tests.support.damage import Source

OUTSIDE = "outside.txt"
"""A file next to the run, for links."""

HUGE = 20 * 2**30
LONG = 2 * 2**20


def as_pipe(path: Path, _source: Source) -> None:
    """Put a named pipe in the place of a file: opening it blocks, reading never ends."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def as_device(path: Path, source: Source) -> None:
    """Put a link to a device in the place of a file."""
    _link(path, Path(source.choice(["/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin"])))


def as_socket(path: Path, _source: Source) -> None:
    """Put a socket in the place of a file."""
    path.unlink(missing_ok=True)
    # The name of a socket must be short.
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


def as_folder(path: Path, _source: Source) -> None:
    """Put a folder in the place of a file."""
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "inside").write_bytes(b"x")


def as_link(path: Path, source: Source) -> None:
    """Put a link in the place of a file: to itself, nowhere, a folder, or a file outside."""
    outside = Path(os.path.relpath(_run_of(path).parent / OUTSIDE, path.parent))
    _link(path, source.choice([Path(path.name), Path("nowhere"), Path("/"), outside, Path()]))


def _run_of(path: Path) -> Path:
    return path.parent.parent if path.parent.name == "checkpoints" else path.parent


def as_sparse(path: Path, source: Source) -> None:
    """Make a file huge without taking room: from its start or behind its contents."""
    with path.open(source.choice(["wb", "ab"])) as file:
        file.truncate(HUGE)


def as_long_line(path: Path, source: Source) -> None:
    """Append a line of megabytes."""
    piece = source.choice([b"1,", b"\0", b"a.", b'{"', b"[", b"9", b"\xff", b'"', b" ", b"\\"])
    with path.open("ab") as file:
        file.write(piece * (LONG // len(piece)) + source.choice([b"", b"\n", b"=1\n"]))


def as_many_lines(path: Path, source: Source) -> None:
    """Append lines by the hundred thousand."""
    lines = [b"\n", b"1,1,1,1,1,1,1,1,1\n", b'{"step":1,"event":"save"}\n', b"[a]\n", b"x\n"]
    with path.open("ab") as file:
        file.write(source.choice(lines) * 100_000)


def as_closed(path: Path, _source: Source) -> None:
    """Take all rights away; that stops only those who are not the administrator."""
    path.chmod(0)


def _link(path: Path, to: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(to)


SPECIAL = (
    *(as_pipe, as_device, as_socket, as_folder, as_link, as_link),
    *(as_sparse, as_long_line, as_many_lines, as_closed),
)
