"""The time of day as files record it."""

from datetime import UTC, datetime


def now() -> str:
    """Return the time of day as files record it (UTC, ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="seconds")
