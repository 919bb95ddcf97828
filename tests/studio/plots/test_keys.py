"""A plot can be read and zoomed without a mouse, and is announced to screen readers."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible

from studio.formatting import format_number
from tests.studio.fake_runs import make_run

pytestmark = pytest.mark.shared_window

Key, Modifier = Qt.Key, Qt.KeyboardModifier


@pytest.fixture
def card(qtbot, window, runs_dir):
    window.resize(1280, 800)
    window.opener.open([make_run(runs_dir).path])
    card = window.plots.card("plot_return")
    drawn = lambda: any(len(p.steps) > 5 for layer in card.layers for p in layer.readable())  # noqa: E731
    qtbot.waitUntil(drawn, timeout=20_000)
    qtbot.waitUntil(lambda: card.plot.focusPolicy() == Qt.FocusPolicy.StrongFocus, timeout=20_000)
    window.activateWindow()
    card.plot.setFocus()
    qtbot.waitUntil(card.plot.hasFocus, timeout=5_000)
    return card


@pytest.fixture
def said(monkeypatch) -> list[str]:
    heard: list[str] = []
    monkeypatch.setattr(
        QAccessible, "updateAccessibility", lambda event: heard.append(event.message())
    )
    return heard


def shown(card) -> list[float]:
    return card.plot.getViewBox().viewRange()[0]


def test_arrows_read_one_value_after_the_other(qtbot, window, card, said) -> None:
    curves = [points for layer in card.layers for points in layer.readable()]
    curve = max(curves, key=lambda each: len(each.steps))
    for _ in range(1 + curves.index(curve)):
        qtbot.keyClick(card.plot, Key.Key_Down)
    for presses, at in ((0, -1), (1, -2), (3, -5)):
        for _ in range(presses):
            qtbot.keyClick(card.plot, Key.Key_Left)
        step, value = curve.steps[at], curve.values[at]
        assert said[-1].startswith(f"step {step:,.0f}: {curve.label} {format_number(value)}")
        assert card.plot.accessibleDescription() == said[-1]
        assert f"step {step:,.0f}" in card.readout
    # The readout of all plots is at the same step.
    assert f"step {curve.steps[-5]:,.0f}" in window.plots.card("plot_q").readout
    qtbot.keyClick(card.plot, Key.Key_Right)
    assert said[-1].startswith(f"step {curve.steps[-4]:,.0f}: ")
    qtbot.keyClick(card.plot, Key.Key_Left, Modifier.ControlModifier)
    assert said[-1].startswith(f"step {curve.steps[0]:,.0f}: ")
    # Another curve, near that step.
    qtbot.keyClick(card.plot, Key.Key_Down)
    assert f": {curve.label} " not in said[-1]
    qtbot.keyClick(card.plot, Key.Key_Up)
    assert f": {curve.label} " in said[-1]
    # It ends with the focus.
    window.plots.card("plot_q").plot.setFocus()
    assert card.readout == ""


@pytest.mark.parametrize("back", [Key.Key_Return, Key.Key_Escape])
def test_enter_fills_the_middle_with_a_plot_and_a_key_shows_all_again(
    qtbot, window, card, back: Key
) -> None:
    for key, filled in ((Key.Key_Return, True), (back, False)):
        qtbot.keyClick(card.plot, key)
        assert window.plots.card("plot_critic_loss").isHidden() is filled
        assert not card.isHidden()


def test_keys_zoom_and_show_everything_again(qtbot, window, card, said) -> None:
    low, high = shown(card)
    qtbot.keyClick(card.plot, Key.Key_Left)
    qtbot.keyClick(card.plot, Key.Key_Plus)
    assert shown(card)[1] - shown(card)[0] == pytest.approx(0.8 * (high - low))
    assert shown(window.plots.card("plot_q")) == pytest.approx(shown(card))
    assert said[-1].startswith("From step ")
    qtbot.keyClick(card.plot, Key.Key_Minus)
    assert shown(card)[1] - shown(card)[0] == pytest.approx(high - low)
    qtbot.keyClick(card.plot, Key.Key_Plus)
    qtbot.keyClick(card.plot, Key.Key_0)
    qtbot.waitUntil(lambda: shown(card) == pytest.approx([low, high]), timeout=5_000)
    assert said[-1] == "Everything is shown."
    heights = card.plot.getViewBox().viewRange()[1]
    qtbot.keyClick(card.plot, Key.Key_Plus, Modifier.ControlModifier)
    now = card.plot.getViewBox().viewRange()[1]
    assert now[1] - now[0] == pytest.approx(0.8 * (heights[1] - heights[0]))
    # The mark and its reading come back into view.
    for _ in range(12):
        qtbot.keyClick(card.plot, Key.Key_Plus)
    for _ in range(12):
        qtbot.keyClick(card.plot, Key.Key_Left, Modifier.ControlModifier)
    step = float(said[-1].split(":")[0].removeprefix("step ").replace(",", ""))
    assert shown(card)[0] <= step <= shown(card)[1]


def test_an_empty_plot_is_no_stop_of_the_keyboard(qtbot, window) -> None:
    plot = window.plots.card("plot_return").plot
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=5_000)
    assert not plot.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert plot.accessibleDescription()
