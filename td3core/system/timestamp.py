"""Timestamps in files."""

from datetime import UTC, datetime


def now() -> str:
    """Return the current time in UTC as ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def shown(text: str, *, seconds: bool = False) -> str:
    """Return a recorded time in local time, to the minute or second; unchanged if it is no time."""
    found = local(text)
    return text if found is None else f"{found:%Y-%m-%d %H:%M{':%S' if seconds else ''}}"


def local(text: str) -> datetime | None:
    """Return a recorded time in local time; None if it is no time."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        return None
