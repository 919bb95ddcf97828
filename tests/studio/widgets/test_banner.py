"""The banner floats over the window's contents, and moves nothing."""

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QLabel

pytestmark = pytest.mark.shared_window

LONG = "There is no environment called 'Pendulun-v1'. Did you mean Pendulum-v1? " * 4


def place(window) -> QRect:
    return QRect(window.banner.mapTo(window, window.banner.rect().topLeft()), window.banner.size())


def test_a_message_moves_no_plot(qtbot, window) -> None:
    card = window.plots.card("plot_return")
    qtbot.waitUntil(lambda: card.height() > 100)
    before = card.geometry(), window.plots.geometry()
    window.banner.show_message("error", LONG)
    qtbot.waitUntil(lambda: window.banner.isVisible() and window.banner.height() > 20)
    assert (card.geometry(), window.plots.geometry()) == before


@pytest.mark.parametrize("size", [(1024, 700), (1280, 800)])
def test_a_long_message_is_whole_and_inside_the_middle(qtbot, window, size) -> None:
    window.banner.show_message("error", LONG, "details")
    window.resize(*size)
    text = window.banner.findChild(QLabel, "banner_text")
    centre = window.centralWidget()
    qtbot.waitUntil(lambda: centre.geometry().contains(place(window)))
    qtbot.waitUntil(lambda: text.height() >= text.heightForWidth(text.width()))
    window.banner.show_message("error", "Short.")
    qtbot.waitUntil(lambda: text.height() < 40)
    assert centre.geometry().contains(place(window))
