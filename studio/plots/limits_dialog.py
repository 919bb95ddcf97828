"""The dialog for the ends of a plot's y axis."""

import math
from collections.abc import Callable

from PySide6.QtCore import Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import plain_minus
from studio.plots.view_range import NO_LIMITS, Limits
from studio.theme.sizes import scaled
from studio.widgets.controls import describe
from studio.widgets.labels import plain_label
from td3core.text import Text, tr

_NO_NUMBER = Text("Type numbers, or leave a field empty.")
_CROSSED = Text("The lower end must be below the upper one.")
_NOT_ABOVE_0 = Text("A logarithmic axis has only values above 0.")


class LimitsDialog(QDialog):
    """A field for each end; an empty one follows the curves."""

    def __init__(
        self,
        name: str,
        title: str,
        limits: Limits,
        take: Callable[[Limits], object],
        parent: QWidget,
        *,
        logarithmic: bool = False,
    ) -> None:
        """Show ``limits``; ``take`` is called with the accepted ones."""
        super().__init__(parent)
        self.setObjectName(f"{name}_limits")
        self.setWindowTitle(tr("Limits of {title}", title=title))
        self._take, self._logarithmic = take, logarithmic
        self.upper_end = self._field("axis_upper", tr("Upper end"), limits[1])
        self.lower_end = self._field("axis_lower", tr("Lower end"), limits[0])
        self.problem = plain_label()
        self.problem.setObjectName("axis_problem")
        self.problem.setProperty("role", "problem")
        form = QFormLayout()
        form.addRow(tr("Upper end"), self.upper_end)
        form.addRow(tr("Lower end"), self.lower_end)
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel | kinds.Reset)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        reset = self.buttons.button(kinds.Reset)
        reset.setText(tr("Follow the curves"))
        reset.clicked.connect(self._reset)
        # Every sentence fits in one line, so that the fields do not move.
        self.setMinimumWidth(scaled(340))
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(self.problem)
        layout.addWidget(self.buttons)
        self.upper_end.setFocus()
        self._check()

    def _field(self, name: str, label: str, value: float | None) -> QLineEdit:
        field = QLineEdit("" if value is None else f"{value:g}")
        describe(field, name, label, tr("Empty: follows the curves"))
        field.setPlaceholderText(tr("follows the curves"))
        field.textChanged.connect(self._check)
        return field

    def _limits(self) -> Limits:
        """Return the limits entered.

        Raises:
            ValueError: a text is no number.
        """
        found: list[float | None] = []
        for field in (self.lower_end, self.upper_end):
            text = plain_minus(field.text()).replace(",", "").strip()
            value = float(text) if text else None
            if value is not None and not math.isfinite(value):
                raise ValueError("not finite")
            found.append(value)
        return found[0], found[1]

    @Slot()
    def _check(self) -> None:
        problem = self._problem()
        self.problem.setText(str(problem) if problem else "")
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(problem is None)

    def _problem(self) -> Text | None:
        try:
            low, high = self._limits()
        except ValueError:
            return _NO_NUMBER
        if low is not None and high is not None and low >= high:
            return _CROSSED
        if self._logarithmic and any(each is not None and each <= 0.0 for each in (low, high)):
            return _NOT_ABOVE_0
        return None

    @Slot()
    def _reset(self) -> None:
        self._take(NO_LIMITS)
        self.reject()

    def accept(self) -> None:
        """Apply the limits entered."""
        if self._problem() is None:
            self._take(self._limits())
            super().accept()
