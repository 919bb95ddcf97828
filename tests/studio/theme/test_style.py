"""The style of the application, applied while windows exist."""

import gc

import pytest
from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtWidgets import QApplication, QLabel, QStyle, QStyleOptionHeader, QTreeWidget
from pytestqt.qtbot import QtBot

from studio.theme.theme import apply_theme, load_theme


class Watcher(QLabel):
    """Notes whether garbage may be collected when its style changes."""

    def __init__(self) -> None:
        super().__init__()
        self.collecting: list[bool] = []

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() is QEvent.Type.StyleChange:
            self.collecting.append(gc.isenabled())
        super().changeEvent(event)


def test_no_closed_window_is_collected_while_qt_styles_all_widgets(
    qtbot: QtBot, qapp: QApplication
) -> None:
    """Qt iterates over a list of all widgets meanwhile: the process would end."""
    watcher = Watcher()
    qtbot.addWidget(watcher)
    watcher.ensurePolished()
    for name in ("dark", "light"):
        apply_theme(qapp, load_theme(name))
    assert watcher.collecting
    assert not any(watcher.collecting)
    assert gc.isenabled()


def test_a_change_of_theme_does_not_install_the_style_again(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would restyle every widget once more."""
    apply_theme(qapp, load_theme("light"))
    installed: list[str] = []
    monkeypatch.setattr(qapp, "setStyle", installed.append)
    for name in ("dark", "light"):
        apply_theme(qapp, load_theme(name))
    assert installed == []


def test_the_arrow_of_a_sorted_column_leaves_its_title_free(
    qtbot: QtBot, qapp: QApplication
) -> None:
    apply_theme(qapp, load_theme("light"))
    view = QTreeWidget()
    qtbot.addWidget(view)
    header = view.header()
    header.ensurePolished()
    option = QStyleOptionHeader()
    option.initFrom(header)
    option.rect = QRect(0, 0, 60, header.sizeHint().height())
    option.sortIndicator = QStyleOptionHeader.SortIndicator.SortDown
    element = QStyle.SubElement.SE_HeaderArrow
    arrow = header.style().subElementRect(element, option, header)
    title = header.fontMetrics().boundingRect(option.rect, Qt.AlignmentFlag.AlignCenter, "Best")
    assert arrow.height() > 0
    assert arrow.bottom() < title.center().y() - header.fontMetrics().xHeight() / 2
