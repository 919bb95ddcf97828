"""Colours that anyone can tell apart."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QCheckBox,
    QRadioButton,
    QStyle,
    QStyleOptionButton,
    QTabBar,
    QWidget,
)

from studio.plots.layers.lines_item import curve_pen
from studio.theme.theme import apply_theme, load_theme
from tests.studio.clipped import arrows_of

# Machado, Oliveira, Fernandes: A physiologically-based model for simulation of color vision
# deficiency (2009), severity 1.0; for linear RGB.
DEUTAN = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
]
PROTAN = [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
]


def lab(colour: str, matrix: list[list[float]]) -> np.ndarray:
    """Return the CIE L*a*b* of a colour as someone with this matrix of vision sees it."""
    code = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(code > 0.04045, ((code + 0.055) / 1.055) ** 2.4, code / 12.92)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ seen / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("matrix", [np.eye(3).tolist(), DEUTAN, PROTAN])
def test_the_curves_of_a_plot_are_told_apart_with_any_vision(
    name: str, matrix: list[list[float]]
) -> None:
    theme = load_theme(name)
    plots = [
        (theme.curve_raw, theme.curve_1, theme.curve_eval),
        (theme.curve_1, theme.curve_2, theme.curve_3),
        theme.compare[:4],
    ]
    for colours in plots:
        found = [lab(colour, matrix) for colour in colours]
        for at, first in enumerate(found):
            for second in found[at + 1 :]:
                # 2.3 is a difference just noticed, side by side.
                assert np.linalg.norm(first - second) > 15, colours


def luminance(colour: str) -> float:
    code = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(code > 0.04045, ((code + 0.055) / 1.055) ** 2.4, code / 12.92)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as the WCAG define it."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_borders_dots_and_curves_stand_out(name: str) -> None:
    theme = load_theme(name)
    for around in (theme.window, theme.panel, theme.field):
        assert contrast(theme.border, around) >= 3, around
    drawn = (theme.curve_raw, theme.curve_1, theme.curve_2, theme.curve_3, theme.curve_eval)
    for colour in (*drawn, theme.marker, *theme.compare):
        assert contrast(colour, theme.panel) >= 3, colour


@pytest.mark.parametrize(("ratio", "width"), [(1.0, 1.0), (2.0, 1.5), (3.0, 2.25)])
def test_curves_are_as_wide_as_the_screen_asks_for(monkeypatch, ratio: float, width: float) -> None:
    monkeypatch.setattr("studio.plots.layers.lines_item.screen_ratio", lambda: ratio)
    assert curve_pen(QColor("black")).widthF() == width


def stands_out(part: QWidget) -> bool:
    """Return whether something is drawn within the edges of a part."""
    image = part.grab(part.rect().adjusted(3, 3, -3, -3)).toImage()
    ground = image.pixelColor(0, 0).name()
    spots = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    return max(contrast(QColor(spot).name(), ground) for spot in spots) >= 3


@pytest.mark.parametrize("checked", [False, True], ids=["empty", "ticked"])
@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("kind", [QCheckBox, QRadioButton])
def test_the_edge_of_a_box_stands_out(
    qtbot, qapp, kind: type[QCheckBox | QRadioButton], name: str, checked: bool
) -> None:
    apply_theme(qapp, load_theme(name))
    box = kind("Seeds")
    qtbot.addWidget(box)
    box.setChecked(checked)
    box.resize(box.sizeHint())
    image, option = box.grab().toImage(), QStyleOptionButton()
    box.initStyleOption(option)
    elements = QStyle.SubElement
    round_one = isinstance(box, QRadioButton)
    element = elements.SE_RadioButtonIndicator if round_one else elements.SE_CheckBoxIndicator
    square = box.style().subElementRect(element, option, box)
    middle = square.center().y()
    edges = [image.pixelColor(x, middle).name() for x in range(square.left(), square.left() + 3)]
    around = image.pixelColor(square.left() + 1, 0).name()
    assert max(contrast(edge, around) for edge in edges) >= 3, (edges, around)


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("kind", [QCheckBox, QRadioButton])
def test_a_box_with_the_keyboard_focus_is_framed(
    qtbot, qapp, kind: type[QCheckBox | QRadioButton], name: str
) -> None:
    theme = load_theme(name)
    apply_theme(qapp, theme)
    box = kind("Seeds")
    qtbot.addWidget(box)
    box.show()
    box.activateWindow()
    box.setFocus()
    qtbot.waitUntil(box.hasFocus)
    image = box.grab().toImage()
    assert image.pixelColor(0, image.height() // 2).name() == theme.accent
    assert contrast(theme.accent, theme.panel) >= 3


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_arrows_of_tabs_that_do_not_fit_stand_out(qtbot, qapp, name: str) -> None:
    apply_theme(qapp, load_theme(name))
    tabs = QTabBar()
    qtbot.addWidget(tabs)
    tabs.setUsesScrollButtons(True)
    tabs.setElideMode(Qt.TextElideMode.ElideNone)
    for number in range(9):
        tabs.addTab(f"Panel {number}")
    tabs.resize(200, tabs.sizeHint().height())
    tabs.setCurrentIndex(4)
    tabs.show()
    qtbot.waitUntil(lambda: len(arrows_of(tabs)) == 2)
    for arrow in arrows_of(tabs):
        assert arrow.isEnabled()
        assert arrow.width() >= 16
        assert stands_out(arrow), arrow.objectName()
