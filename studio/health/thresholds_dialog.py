"""Limits beyond which a quantity counts as unhealthy."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QWidget

from studio.health.board import AdviceBoard
from studio.widgets.controls import describe
from studio.widgets.forms import make_dialog_column, make_form, remark
from studio.widgets.number_box import NumberBox
from td3core.analysis.advice import Rule, load_rules
from td3core.config.spec import Spec
from td3core.text import Text, tr

_WIDTH = 480


class ThresholdsDialog(QDialog):
    """One field per rule; each takes effect at once."""

    def __init__(self, board: AdviceBoard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("thresholds_dialog")
        self.setWindowTitle(tr("Thresholds of a run's health"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._board = board
        self._boxes: dict[str, NumberBox] = {}
        layout = make_dialog_column(self, _WIDTH)
        layout.addWidget(remark(tr("Beyond these values, the Health panel gives advice.")))
        form = make_form()
        for rule in board.rules:
            label = QLabel(str(_label(rule)))
            label.setToolTip(f"<qt>{rule.reason}</qt>")
            form.addRow(label, self._make_box(rule))
        layout.addLayout(form)
        kind = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kind.RestoreDefaults | kind.Close)
        buttons.button(kind.RestoreDefaults).clicked.connect(self._restore)
        buttons.button(kind.Close).setDefault(True)
        # Otherwise Enter would press the first button.
        buttons.button(kind.RestoreDefaults).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)

    def _make_box(self, rule: Rule) -> NumberBox:
        box = NumberBox(Spec(label=rule.title, help=rule.title), whole=False)
        describe(box, f"threshold_{rule.name}", str(rule.title), f"<qt>{rule.reason}</qt>")
        box.setValue(rule.threshold)
        box.valueChanged.connect(partial(self._board.set_threshold, rule))
        self._boxes[rule.name] = box
        return box

    def _restore(self) -> None:
        for rule in load_rules():
            self._boxes[rule.name].setValue(rule.threshold)


def _label(rule: Rule) -> Text:
    if rule.is_upper:
        return Text("{title}: above", title=rule.title)
    return Text("{title}: below", title=rule.title)
