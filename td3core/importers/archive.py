"""Reads untrusted zip files: plain members of bounded size only."""

import struct
import zipfile
from io import BytesIO
from pathlib import Path

from td3core.importers.damage import UnexpectedError
from td3core.system.regular_files import read_bytes

MOST_BYTES = 512 * 2**20
"""Size limit of a file: five times an agent of ten layers of 1024 units with its optimisers."""
_MOST_MEMBERS = 2_000
_MOST_DIRECTORY = 2**20
_MOST_RATIO = 100
_CHEAP = 64 * 1024
"""Size of a member in bytes up to which any compression ratio is accepted."""
_END, _LOCATOR, _END_64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
_LONGEST_END = 22 + 0xFFFF


class Archive:
    """The members of a zip by name."""

    def __init__(self, data: bytes) -> None:
        """Read and check the directory.

        Raises:
            UnexpectedError: it has too many members, duplicate names, or unsupported members.
            Exception: one of :data:`~td3core.importers.damage.DAMAGE`; the file is not a zip.
        """
        _require_short_directory(data)
        self._zip = zipfile.ZipFile(BytesIO(data))
        infos = self._zip.infolist()
        self._infos = {info.filename: info for info in infos}
        if len(self._infos) != len(infos):
            raise UnexpectedError("two members have one name")
        total = 0
        for info in infos:
            _require_plain(info)
            total += info.file_size
        if total > MOST_BYTES:
            raise UnexpectedError("the members have {n} bytes together", n=total)

    @property
    def names(self) -> list[str]:
        """The names of all members."""
        return list(self._infos)

    def __contains__(self, name: str) -> bool:
        """Return whether there is a member of this name."""
        return name in self._infos

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Return a member of at most this many bytes.

        Raises:
            UnexpectedError: it does not exist, or is longer.
            Exception: one of :data:`~td3core.importers.damage.DAMAGE`; it is damaged.
        """
        if name not in self._infos:
            raise UnexpectedError("the member {name} is missing", name=name)
        info = self._infos[name]
        if info.file_size > most:
            raise UnexpectedError("{name} has {n} bytes", name=name, n=info.file_size)
        with self._zip.open(info) as member:
            # The length in the directory may be wrong.
            data = member.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise UnexpectedError(
                "the size of {name} does not match the archive's directory", name=name
            )
        return data


def read_file(path: Path) -> bytes:
    """Return the contents of a file that may be imported.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger than :data:`MOST_BYTES`.
    """
    return read_bytes(path, MOST_BYTES)


def _require_plain(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & 0x1:
        raise UnexpectedError("{name} is encrypted", name=info.filename[:80])
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnexpectedError("{name} is compressed in an unusual way", name=info.filename[:80])
    if info.file_size > max(_CHEAP, _MOST_RATIO * info.compress_size):
        raise UnexpectedError(
            "{name} would grow from {n} to {m} bytes",
            name=info.filename[:80],
            n=info.compress_size,
            m=info.file_size,
        )


def _require_short_directory(data: bytes) -> None:
    """Refuse a zip that would take long to list.

    Raises:
        UnexpectedError: it has too many members, or is no zip.
    """
    at = data.rfind(_END, max(0, len(data) - _LONGEST_END))
    if at < 0 or len(data) - at < 22:
        raise UnexpectedError("the end of a zip file is missing")
    count, size = struct.unpack_from("<HL", data, at + 10)
    if data[at - 20 : at - 16] == _LOCATOR:
        (begin,) = struct.unpack_from("<Q", data, at - 12)
        # Offsets are off if data precedes the zip: also look just before the locator.
        for place in (begin, at - 76):
            if 0 <= place <= len(data) - 56 and data[place : place + 4] == _END_64:
                more, larger = struct.unpack_from("<QQ", data, place + 32)
                count, size = max(count, more), max(size, larger)
    if count > _MOST_MEMBERS or size > _MOST_DIRECTORY:
        raise UnexpectedError("the zip lists {n} members", n=count)
