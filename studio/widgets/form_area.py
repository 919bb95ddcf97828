"""A form or panel that scrolls vertically, and sideways only in a window too narrow for it."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractSpinBox, QFrame, QLineEdit, QScrollArea, QWidget

_NO_LIMIT = 16_777_215
"""Qt's largest size of a widget."""


class FormArea(QScrollArea):
    """Scrolls a form; usually as wide as the form and its scroll bar together, or wider."""

    grown = Signal()
    """The form needs more height than before."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content, self._limits_height, self._sideways = content, False, False
        self.setWidget(content)
        self.setWidgetResizable(True)
        # The style sheet removes the frame; until then it would take up width.
        self.setFrameShape(QFrame.Shape.NoFrame)
        # The focus goes to the fields, which are scrolled into view.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the smallest width that cuts nothing off; any width if it scrolls sideways."""
        if self._sideways:
            return super().minimumSizeHint()
        around = self.verticalScrollBar().sizeHint().width()
        width = self._content.minimumSizeHint().width() + around
        return QSize(width, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return at least the minimum."""
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def scroll_sideways(self, allowed: bool) -> None:
        """Allow the form to be wider than this area, or end that."""
        if allowed is not self._sideways:
            self._sideways = allowed
            policy = Qt.ScrollBarPolicy
            self.setHorizontalScrollBarPolicy(
                policy.ScrollBarAsNeeded if allowed else policy.ScrollBarAlwaysOff
            )
            self.updateGeometry()

    def wanted_height(self) -> int:
        """Return the height at which nothing needs scrolling."""
        layout = self._content.layout()
        assert layout is not None
        return layout.totalHeightForWidth(self.viewport().width()) + 2 * self.frameWidth()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Notice when the form needs another size."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._fit()
        elif event.type() == QEvent.Type.Resize:
            # This area has resized the form itself. Qt would now query the form's size, which is
            # not yet known at its new width, and could resize it endlessly.
            return False
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Find the form's height at its new width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def limit_height(self, limited: bool = True) -> None:
        """Never be taller than the form from now on, or remove that limit."""
        if limited is not self._limits_height:
            self._limits_height = limited
            if not limited:
                self.setMaximumHeight(_NO_LIMIT)
            self._fit()

    def _fit(self) -> None:
        before, wanted = self.maximumHeight(), self.wanted_height()
        # Before its first layout a form reports no height.
        if self._limits_height and wanted > 0 and wanted != before:
            self.setMaximumHeight(wanted)
            if wanted > before:
                self.grown.emit()


def point_to(field: QWidget) -> None:
    """Focus a field, with its text selected, and scroll the form around it to it."""
    field.setFocus()
    if isinstance(field, QAbstractSpinBox | QLineEdit):
        field.selectAll()
    scroll_to(field)


def scroll_to(widget: QWidget) -> None:
    """Scroll the form around a widget to it, once its layout is up to date."""
    parent = widget.parentWidget()
    while parent is not None and not isinstance(parent, FormArea):
        parent = parent.parentWidget()
    if parent is not None:
        area = parent
        QTimer.singleShot(0, widget, lambda: area.ensureWidgetVisible(widget))
