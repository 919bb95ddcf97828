"""The files of films, before anything is encoded. Imports neither PyAV nor a simulator."""

from pathlib import Path

from td3core.errors import RequestError

SUFFIXES = (".mp4", ".gif", ".webp")


def partial_path(target: Path) -> Path:
    """Return the path at which a film is written until it is complete."""
    return target.with_name(f".{target.name}.part")


def require_film_suffix(target: Path) -> None:
    """Refuse a file whose suffix is not a film format.

    Raises:
        RequestError: the suffix names no format.
    """
    if target.suffix.lower() not in SUFFIXES:
        raise RequestError(
            "The suffix of {target} names no format of films; use .mp4, .gif or .webp.",
            target=str(target),
        )
