"""Timestamps for files."""

from datetime import UTC, datetime


def now() -> str:
    """Return the current time in UTC as ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
