"""The common part of every film's JSON object."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from td3core.exporters.film.writer import FilmInfo


def film_entries(info: "FilmInfo", out: Path) -> dict[str, object]:
    """Return the entries that describe the file itself."""
    return {
        "film": str(out),
        "frames": info.frames,
        "fps": info.fps,
        "duration_s": info.duration_s,
        "width": info.width,
        "height": info.height,
    }
