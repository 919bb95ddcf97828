"""Numbers as they are read."""

import pytest

from studio.formatting import about_steps, short_steps


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        *((512, "512"), (1_000, "1k"), (50_000, "50k"), (44_862, "44,862"), (12_500, "12.5k")),
        *((1_250_000, "1.25M"), (1_234_567, "1,234,567")),
    ],
)
def test_a_letter_stands_for_thousands_only_where_it_shortens_a_number(
    steps: int, text: str
) -> None:
    assert short_steps(steps) == text


def test_a_number_of_about_so_many_steps_has_three_digits() -> None:
    assert [about_steps(steps) for steps in (44_862, 1_234_567)] == ["44.9k", "1.23M"]
