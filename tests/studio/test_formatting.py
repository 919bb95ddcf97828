"""Numbers as displayed."""

import math

import pytest

from studio.formatting import (
    about_steps,
    format_number,
    format_return,
    format_tick,
    format_value,
    plain_minus,
    short_steps,
    typographic,
)
from studio.plots.axis import ShortAxis
from studio.widgets.number_text import read_number


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        *((512, "512"), (1_000, "1k"), (2_500, "2.5k"), (12_500, "12.5k"), (44_862, "44,862")),
        *((50_000, "50k"), (1_000_000, "1M"), (1_250_000, "1.25M"), (1_234_567, "1,234,567")),
    ],
)
def test_a_letter_stands_for_thousands_only_where_it_shortens_a_number(
    steps: int, text: str
) -> None:
    assert short_steps(steps) == text


def test_a_number_of_about_so_many_steps_has_three_digits() -> None:
    assert [about_steps(steps) for steps in (44_862, 1_234_567)] == ["44.9k", "1.23M"]


def test_negative_numbers_have_one_minus_sign_wherever_the_window_shows_them(qapp) -> None:
    axis = ShortAxis("left")
    shown = [
        *(
            format_number(-207.13),
            format_number(-1234.5),
            format_number(-1.2e-7),
            format_tick(-0.25),
            format_tick(-1234.0),
            format_tick(999_800.0),
        ),
        *(
            format_number(-math.inf),
            format_return(-207.1, 3.0),
            format_value(-5.0),
            format_value(-3),
            format_return(-0.04),
        ),
        *axis.tickStrings([-1500.0, -5.0, -0.25], 1.0, 0.05),
    ]
    assert shown == [
        *(
            "−207.1",
            "−1,234",
            "−1.2e−07",
            "−0.25",
            "−1,230",
            "1e+06",
            "−inf",
            "−207.1 ± 3.0",
            "−5",
            "−3",
            "0.0",
        ),
        *("−1,500.00", "−5.00", "−0.25"),
    ]
    axis.setLogMode(x=False, y=True)
    assert axis.tickStrings([-4.0], 1.0, 1.0) == ["1e-4"]
    assert axis.tickStrings([math.log10(1500)], 1.0, 1.0) == ["1,500"]


@pytest.mark.parametrize(
    "text", ["Pendulum-v1", "step-5", "0-4,7", "--seed", "-", "relu-", "a - b"]
)
def test_a_hyphen_that_is_no_sign_of_a_number_stays(text: str) -> None:
    assert typographic(text) == text
    assert format_value(text) == text


def test_what_is_shown_can_be_typed_again() -> None:
    assert read_number(format_number(-1.2e-7), whole=False) == -1.2e-7
    assert read_number("-5", whole=False) == read_number("−5", whole=False) == -5
    assert plain_minus(format_return(-207.1, 3.0)) == "-207.1 ± 3.0"
