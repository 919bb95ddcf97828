"""A recorded time reads the same wherever it is shown."""

from datetime import UTC, datetime

from td3core.system.timestamp import shown


def test_a_recorded_time_is_shown_in_local_time_and_anything_else_as_it_is() -> None:
    made = datetime(2026, 3, 4, 5, 6, 7).astimezone()
    recorded = made.astimezone(UTC).isoformat()
    assert shown(recorded) == "2026-03-04 05:06"
    assert shown(recorded, seconds=True) == "2026-03-04 05:06:07"
    assert shown("yesterday") == "yesterday"
