"""Every control of every panel and dialog has a name, and dialogs focus their main input."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLabel,
    QLayoutItem,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.consent.dialog import ConsentDialog
from studio.window.main_window import MainWindow
from td3core.system.allowed_code import LocatedModule
from tests.studio.window.dialogs import dialogs

CONTROLS = (
    *(QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit),
    QPlainTextEdit,
)
_LABEL, _FIELD = QFormLayout.ItemRole.LabelRole, QFormLayout.ItemRole.FieldRole


def controls(parent: QWidget) -> Iterator[QWidget]:
    """Yield the controls for mouse or keyboard, except parts of other controls."""
    for kind in CONTROLS:
        for found in parent.findChildren(kind):
            inside = found.parentWidget()
            part = isinstance(inside, QComboBox | QAbstractSpinBox | QAbstractItemView | QLineEdit)
            own = found.objectName().startswith("qt_") or isinstance(found, QScrollBar)
            if not part and not own and "ListView" not in type(found).__name__:
                yield found


def nameless(parent: QWidget) -> list[str]:
    return [
        f"{type(found).__name__} {found.objectName()} in {type(found.parentWidget()).__name__}"
        for found in controls(parent)
        if not found.accessibleName()
        and not (isinstance(found, QAbstractButton) and found.text().strip("✕↺… "))
    ]


def labelled(parent: QWidget) -> Iterator[tuple[QWidget, str]]:
    """Yield inputs with the text displayed next to them, or on them."""
    for form in parent.findChildren(QFormLayout):
        for row in range(form.rowCount()):
            label, field = (form.itemAt(row, role) for role in (_LABEL, _FIELD))
            if label is None or field is None or not isinstance(label.widget(), QLabel):
                continue
            held = [field.widget()] if field.widget() else []
            if field.layout() is not None:
                held = [w for at in range(field.layout().count()) if (w := _item(field, at))]
            yield from ((each, label.widget().text()) for each in held[:1])
    for label in parent.findChildren(QLabel):
        if isinstance(label.buddy(), QWidget):
            yield label.buddy(), label.text()
    for check in parent.findChildren(QCheckBox):
        yield check, check.text()


def _item(field: QLayoutItem, at: int) -> QWidget | None:
    return field.layout().itemAt(at).widget()


def misnamed(parent: QWidget) -> list[str]:
    """Return inputs whose accessible name differs from the label next to them."""
    return [
        f"{found.objectName()}: {found.accessibleName()!r}, not {seen!r}"
        for found, seen in labelled(parent)
        if isinstance(found, CONTROLS)
        and seen.strip()
        # The symbol before a name, as in "τ  Target averaging", is not spoken.
        and not (found.accessibleName() or found.property("text") or "").startswith(
            seen.split("  ")[-1].replace("&", "").rstrip(":")
        )
    ]


def test_every_control_of_the_window_has_a_name_for_screen_readers(window: MainWindow) -> None:
    for name in ("log", "runs", "many", "sweeps", "instruments", "algorithm"):
        window.docks.open(name)
    assert nameless(window) == []
    assert misnamed(window) == []


@pytest.mark.slow
def test_dialogs_name_their_controls_and_focus_what_one_came_for(
    qtbot: QtBot, window: MainWindow, runs_dir: Path
) -> None:
    wrong = {}
    for wanted, dialog in dialogs(window, runs_dir).items():
        qtbot.addWidget(dialog)
        dialog.show()
        dialog.activateWindow()
        qtbot.waitUntil(lambda dialog=dialog: dialog.focusWidget() is not None, timeout=5_000)
        focused = dialog.focusWidget()
        kinds = [each.__name__ for each in type(focused).__mro__]
        name = wanted.strip()
        right = name in kinds if name != "any" else not isinstance(focused, QAbstractButton)
        if not right and name != "button":
            wrong[type(dialog).__name__] = f"{kinds[0]} {focused.objectName()}"
        if nameless(dialog):
            wrong[f"{type(dialog).__name__} names"] = ", ".join(nameless(dialog))
        if misnamed(dialog):
            wrong[f"{type(dialog).__name__} labels"] = ", ".join(misnamed(dialog))
        dialog.close()
    assert wrong == {}


def test_the_keys_at_hand_refuse_code(qtbot: QtBot) -> None:
    dialog = ConsentDialog(LocatedModule(name="theirs", path="/somewhere/theirs.py"))
    qtbot.addWidget(dialog)
    dialog.show()
    focused = dialog.focusWidget()
    assert focused is not None
    assert focused.objectName() == "consent_refuse_button"
