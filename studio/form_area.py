"""A form that scrolls up and down only, and so is never narrower than what it holds."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QScrollArea, QWidget


class FormArea(QScrollArea):
    """Scrolls a form; as wide at least as the form and the scroll bar beside it."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
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
        return super().eventFilter(watched, event)
