"""Setup and Live settings: their size, names that are never cut, and keyboard access."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QGuiApplication,
)
from PySide6.QtWidgets import (
    QApplication,
    QStyle,
    QStyleOptionComboBox,
)

from studio.live.row import LiveRow
from tests.studio.window.test_preferences import stored

pytestmark = pytest.mark.shared_window


@pytest.mark.own_window
def test_no_name_of_a_setting_is_cut_in_the_narrowest_left_column(qtbot, window, find) -> None:
    dock = window.docks.dock("live")
    window.resizeDocks([dock], [10], Qt.Orientation.Horizontal)
    QApplication.processEvents()
    for row in window.live.findChildren(LiveRow):
        label = find(f"label_{row.name}")
        row.show_pending(True)
        QApplication.processEvents()
        assert label.sizeHint().width() <= label.width()
        row.show_pending(False)
    for combo, text in ((find("preset_combo"), "Walker2DBulletEnv-v0"),):
        combo.addItem(text)
        combo.setCurrentText(text)
        room = combo.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox,
            combo_option(combo),
            QStyle.SubControl.SC_ComboBoxEditField,
            combo,
        )
        assert room.width() >= combo.fontMetrics().horizontalAdvance(text)
    editor = find("env_combo").lineEdit()
    needed = editor.fontMetrics().horizontalAdvance("Walker2DBulletEnv-v0")
    assert editor.width() >= needed + 4


def combo_option(combo) -> QStyleOptionComboBox:
    option = QStyleOptionComboBox()
    combo.initStyleOption(option)
    return option


@pytest.mark.own_window
def test_the_whole_setup_is_seen_at_the_first_launch(qtbot, window) -> None:
    window.resize(1280, 800)
    bar = window.docks.dock("setup").widget().verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() == 0)


def column(window) -> tuple[int, int]:
    """Return the heights of the setup and of the live settings below it, once they have settled."""
    for _ in range(4):
        QApplication.processEvents()
    return window.docks.dock("setup").height(), window.docks.dock("live").height()


LINE = 16


@pytest.mark.own_window
@pytest.mark.slow
def test_room_that_the_setup_has_no_use_for_goes_to_the_live_settings(qtbot, window, find) -> None:
    bar = window.docks.dock("setup").widget().verticalScrollBar()
    window.resize(1280, 800)
    whole, _ = column(window)
    # A scroll bar that comes and goes may wrap a text into a line more.
    about_whole = pytest.approx(whole, abs=LINE)
    window.resize(1920, 1080)
    assert column(window)[0] == about_whole
    assert bar.maximum() == 0
    # A small window, and back: the live settings were not to be left with a strip.
    window.resize(1000, 560)
    assert column(window)[1] >= 200
    window.resize(1280, 800)
    assert column(window)[0] == about_whole
    find("env_combo").setCurrentText("CartPole-v1")
    # Hints keep their places.
    assert column(window)[0] == about_whole
    find("env_combo").setCurrentText("BipedalWalker-v3")
    window.setup.welcome.hide()
    assert column(window)[0] < whole - LINE
    window.setup.welcome.show()
    assert column(window)[0] == about_whole
    find("advanced").expand()
    setup, live = column(window)
    assert setup > whole + 50
    assert live >= 200
    find("advanced").heading.setChecked(False)
    assert column(window)[0] == about_whole


@pytest.mark.own_window
def test_a_height_that_a_person_gave_the_setup_is_kept(qtbot, window, find, monkeypatch) -> None:
    window.resize(1280, 800)
    column(window)
    monkeypatch.setattr(QGuiApplication, "mouseButtons", lambda: Qt.MouseButton.LeftButton)
    docks = [window.docks.dock("setup"), window.docks.dock("live")]
    window.resizeDocks(docks, [200, 500], Qt.Orientation.Vertical)
    given, _ = column(window)
    monkeypatch.undo()
    find("advanced").expand()
    assert column(window)[0] == given
    window.close()
    assert stored().value("setup_sized_by_hand", False, bool) is True


def test_a_refused_setting_is_called_as_in_the_form_and_brought_into_view(
    qtbot, window, find
) -> None:
    field = find("field_critic_hidden")
    field.setText("8, x")
    assert not field.isVisible()
    window.start_request.start()
    assert window.banner.text.startswith("Critic layers cannot be '8, x'")
    qtbot.waitUntil(lambda: not field.visibleRegion().isEmpty())
    assert window.focusWidget() is field


def test_keys_reach_only_what_is_seen_in_the_form(qtbot, window, find) -> None:
    hidden = find("field_threads")
    assert not hidden.isVisible()
    find("advanced").expand()
    qtbot.waitUntil(lambda: hidden.isVisible() and hidden.height() > 10)


def test_live_settings_say_whom_a_change_reaches(window, find) -> None:
    assert find("last_change").text() == "Values for the next run"
    window.live.set_steered(True)
    assert find("last_change").text() == "Changes take effect at once"
