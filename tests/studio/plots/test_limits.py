"""Ends of a y axis that the user has fixed, and quantities that a plot keeps showing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QDialogButtonBox, QWidget

from studio.plots.layers.curve_layers import CurveLayer
from studio.plots.limits_dialog import LimitsDialog
from studio.plots.view_range import NO_LIMITS, Limits, limited
from studio.window.session_memory import SessionMemory
from tests.studio.plots.layers import layer_of
from tests.studio.window.test_manners import drawn, feed

ends = st.none() | st.floats(-1e9, 1e9)
OK, RESET = QDialogButtonBox.StandardButton.Ok, QDialogButtonBox.StandardButton.Reset


@given(low=st.floats(-1e6, 1e6), height=st.floats(1e-3, 1e6), first=ends, second=ends)
def test_a_fixed_end_is_where_it_was_put_and_the_axis_never_turns_around(
    low: float, height: float, first: Any, second: Any
) -> None:
    limits = (first, second)
    if first is not None and second is not None:
        limits = (min(first, second), max(first, second) + 1.0)
    shown = limited((low, low + height), limits, logarithmic=False)
    assert shown[0] < shown[1]
    for end, wanted in zip(shown, limits, strict=True):
        assert wanted is None or end == wanted


def test_without_limits_the_range_stays_and_a_logarithmic_one_counts_in_powers_of_ten() -> None:
    assert limited((1.0, 2.0), NO_LIMITS, logarithmic=True) == (1.0, 2.0)
    assert limited((0.0, 2.0), (100.0, 1e4), logarithmic=True) == (2.0, 4.0)
    assert limited((0.0, 2.0), (-1.0, 1e4), logarithmic=True) == (0.0, 4.0)
    assert limited((-3.0, 0.0), (0.01, None), logarithmic=True) == (-2.0, 0.0)


@pytest.fixture
def taken() -> list[Limits]:
    return []


def dialog(qtbot: Any, taken: list[Limits], limits: Limits = NO_LIMITS, **more: Any) -> Any:
    parent = QWidget()
    qtbot.addWidget(parent)
    made = LimitsDialog("plot_return", "Return", limits, taken.append, parent, **more)
    made.held = parent
    return made


def test_what_is_typed_is_taken_in_both_notations(qtbot: Any, taken: list[Limits]) -> None:
    made = dialog(qtbot, taken)
    made.lower_end.setText("−1,500")
    made.upper_end.setText("2e2")
    made.buttons.button(OK).click()
    assert taken == [(-1500.0, 200.0)]
    again = dialog(qtbot, taken, (-1500.0, None))
    assert (again.lower_end.text(), again.upper_end.text()) == ("-1500", "")
    again.buttons.button(RESET).click()
    assert taken[-1] == NO_LIMITS


@pytest.mark.parametrize(
    ("low", "high", "logarithmic", "problem"),
    [
        ("x", "", False, "Type numbers"),
        ("nan", "", False, "Type numbers"),
        ("", "inf", False, "Type numbers"),
        ("2", "1", False, "The lower end must be below"),
        ("1", "1", False, "The lower end must be below"),
        ("0", "", True, "A logarithmic axis"),
    ],
)
def test_what_makes_no_axis_is_refused_with_a_sentence(
    qtbot: Any, taken: list[Limits], low: str, high: str, logarithmic: bool, problem: str
) -> None:
    made = dialog(qtbot, taken, logarithmic=logarithmic)
    made.lower_end.setText(low)
    made.upper_end.setText(high)
    assert made.problem.text().startswith(problem)
    assert not made.buttons.button(OK).isEnabled()
    made.accept()
    assert taken == []


@pytest.mark.slow
def test_a_plot_keeps_its_limits_while_curves_grow(qtbot: Any, window: Any, tmp_path: Path) -> None:
    card = window.plots.card("plot_return")
    feed(window, 1_000)
    drawn(qtbot, window, 1_000)
    card.set_limits((-50.0, 500.0))
    feed(window, 2_000)
    drawn(qtbot, window, 2_000)
    assert card.plot.getViewBox().viewRange()[1] == [-50.0, 500.0]
    card.set_limits(NO_LIMITS)
    assert card.plot.getViewBox().viewRange()[1][1] < 0.0
    # The next session shows the added quantities again, except unknown ones.
    settings = QSettings(str(tmp_path / "memory.ini"), QSettings.Format.IniFormat)
    memory = SessionMemory(settings, window.setup, window.live, window.plots)
    card.add_quantities(["q_gap", "no such quantity", "return"])
    assert card.added == ["q_gap"]
    memory.save(None)
    layer = layer_of(card, CurveLayer)
    layer.remove("q_gap")
    memory.restore_forms()
    assert card.added == ["q_gap"]
    assert window.plots.card("plot_q").added == []
    settings.setValue("plot_quantities", '{"plot_return": 7, "plot_of_another_version": ["q1"]}')
    memory.restore_forms()
    settings.setValue("plot_quantities", "[]")
    memory.restore_forms()
    assert card.added == ["q_gap"]
