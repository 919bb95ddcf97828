"""Asks what happens to running training when the window closes."""

from PySide6.QtWidgets import QMessageBox, QWidget

from td3core.text import Text, tr

_LEAVING = Text(
    "Runs that are stopped can be resumed. In the background they continue on their own."
)
_STAYING = Text(
    "Runs are saved before they stop, and can be resumed. To keep training, the window stays open."
)


def ask_what_to_do(parent: QWidget, *, can_leave: bool) -> str:
    """Ask whether to ``stop`` training, to ``keep`` it in the background, or to ``cancel``.

    A run in the window's own process cannot be left, nor can a sweep: to continue them, the window
    stays open.
    """
    box = QMessageBox(parent)
    box.setObjectName("close_question")
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(tr("Training is in progress"))
    box.setText(tr("Stop the training and close the window?"))
    box.setInformativeText(str(_LEAVING if can_leave else _STAYING))
    roles = QMessageBox.ButtonRole
    stop = box.addButton(tr("Stop and close"), roles.AcceptRole)
    text = tr("Keep training in the background") if can_leave else tr("Keep training")
    keep = box.addButton(text, roles.DestructiveRole if can_leave else roles.RejectRole)
    buttons = {"stop": stop, "keep": keep}
    if can_leave:
        buttons["cancel"] = box.addButton(QMessageBox.StandardButton.Cancel)
    for name, button in buttons.items():
        button.setObjectName(f"close_{name}_button")
    # Neither Enter nor Escape ends a run.
    box.setDefaultButton(keep)
    box.setEscapeButton(buttons.get("cancel", keep))
    box.exec()
    if box.clickedButton() is stop:
        return "stop"
    return "keep" if can_leave and box.clickedButton() is keep else "cancel"
