"""A form that scrolls up and down only, and so is never narrower than what it holds."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QWidget


class FormArea(QScrollArea):
    """Scrolls a form; as wide at least as the form and the scroll bar beside it."""

    grown = Signal()
    """The form needs more room than before."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content, self._hugs = content, False
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Ask for the width that cuts nothing off."""
        beside = self.verticalScrollBar().sizeHint().width() + 2 * self.frameWidth()
        width = self._content.minimumSizeHint().width() + beside
        return QSize(width, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:  # noqa: N802
        """Ask for no less than that."""
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def wanted_height(self) -> int:
        """Return the height at which nothing has to be scrolled."""
        layout = self._content.layout()
        assert layout is not None
        return layout.totalHeightForWidth(self.viewport().width()) + 2 * self.frameWidth()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Pass on that the form has come to need another width."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._fit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Find out what a form of another width needs."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    @Slot(QWidget)
    def bring_into_view(self, widget: QWidget) -> None:
        """Scroll to a part of the form, once it has its place."""
        QTimer.singleShot(0, widget, lambda: self.ensureWidgetVisible(widget))

    def hug(self) -> None:
        """Be no higher than the form from now on."""
        self._hugs = True
        self._fit()

    def _fit(self) -> None:
        before, wanted = self.maximumHeight(), self.wanted_height()
        # A form that is not laid out yet does not know.
        if self._hugs and wanted > 0 and wanted != before:
            self.setMaximumHeight(wanted)
            if wanted > before:
                self.grown.emit()
