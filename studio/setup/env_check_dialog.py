"""The findings of an environment check, to read and copy."""

from html import escape
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QProgressBar,
    QTextBrowser,
    QWidget,
)

from studio.formatting import typographic
from studio.theme.theme import Theme
from studio.widgets.forms import make_dialog_column, resize_within_screen
from studio.widgets.labels import ElidedLabel
from studio.widgets.setting_names import in_labels
from td3core.text import Text, tr, translated

_MARKS = {"ok": "✓", "warning": "▲", "error": "✕"}


class EnvCheckDialog(QDialog):
    """Lists the findings, most serious first."""

    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("env_check_dialog")
        self.setWindowTitle(tr("Environment check"))
        resize_within_screen(self, 620, 380)
        self._theme: Theme | None = None
        self._answer: dict[str, Any] | None = None
        self._heading = ElidedLabel()
        self._heading.setProperty("role", "title")
        self._summary = QLabel()
        self._summary.setObjectName("env_check_summary")
        self._summary.setWordWrap(True)
        self._busy = QProgressBar()
        self._busy.setAccessibleName(tr("Checking the environment"))
        self._busy.setTextVisible(False)
        self._busy.setRange(0, 0)
        self._view = QTextBrowser()
        self._view.setObjectName("env_check_view")
        self._view.setAccessibleName(tr("Findings"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = make_dialog_column(self)
        for widget in (self._heading, self._summary, self._busy, self._view, buttons):
            layout.addWidget(widget)

    @property
    def text(self) -> str:
        """Summary and findings as plain text."""
        return f"{self._summary.text()}\n{self._view.toPlainText()}"

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        if self._answer is not None:
            self.show_answer(self._answer)

    def show_waiting(self, env_id: str) -> None:
        """Show that a check is in progress."""
        self._answer = None
        self._heading.setText(env_id)
        self._summary.setText(tr("Taking random steps in a separate process …"))
        self._view.clear()
        self._busy.show()

    def show_answer(self, answer: dict[str, Any]) -> None:
        """Show the object printed by ``td3-studio check --json``."""
        self._answer = answer
        self._busy.hide()
        self._summary.setText(_summary(answer))
        order = list(_MARKS)
        found = sorted(answer["findings"], key=lambda each: -order.index(each["level"]))
        self._view.setHtml(f"<table cellspacing='0'>{''.join(map(self._row, found))}</table>")

    def show_refusal(self, sentence: Text) -> None:
        """Show why the environment could not be checked at all."""
        findings = [{"level": "error", "check": tr("creation"), "message": in_labels(sentence)}]
        self.show_answer({"errors": 1, "warnings": 0, "findings": findings})

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Announce that the result is no longer needed."""
        super().hideEvent(event)
        self.dismissed.emit()

    def _row(self, finding: dict[str, str]) -> str:
        theme, level = self._theme, finding["level"]
        colours = {"ok": "good", "warning": "warn", "error": "bad"}
        colour = getattr(theme, colours[level]) if theme else "gray"
        cell = "style='padding: 4px 12px 4px 0'"
        return (
            f"<tr><td {cell}><span style='color:{colour}'>{_MARKS[level]}</span></td>"
            f"<td {cell}><b>{escape(translated(finding['check']))}</b></td>"
            f"<td {cell}>{escape(typographic(finding['message']))}</td></tr>"
        )


def _summary(answer: dict[str, Any]) -> str:
    errors, warnings = int(answer["errors"]), int(answer["warnings"])
    if errors:
        return tr("This environment cannot be used for training as it is.")
    if warnings:
        return tr("This environment can be used for training. Look at the warnings.")
    return tr("No problems found.")
