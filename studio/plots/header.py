"""The heading of a plot: its title and its buttons."""

from functools import partial

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from studio.plots.catalogue import PlotSpec
from studio.plots.export import KINDS
from studio.theme.theme import Theme


class PlotHeader(QWidget):
    """Title, logarithmic scale, reset of the view, export."""

    log_toggled = Signal(bool)
    reset_requested = Signal()
    export_requested = Signal(str)
    """Carries the kind of file, one of :data:`KINDS`."""

    def __init__(self, plot: PlotSpec) -> None:
        super().__init__()
        self._plot = plot
        self._icons: dict[QToolButton, str] = {}
        title = QLabel(plot.title)
        title.setProperty("role", "title")
        title.setToolTip(plot.help)
        bar = QHBoxLayout(self)
        bar.setContentsMargins(10, 6, 4, 0)
        bar.setSpacing(4)
        bar.addWidget(title)
        bar.addStretch(1)
        if plot.log_button:
            log = self._button("math-log", "Logarithmic scale")
            log.setCheckable(True)
            log.setChecked(True)
            log.toggled.connect(self.log_toggled)
            bar.addWidget(log)
        reset = self._button("arrow-expand-all", "Show everything again")
        reset.clicked.connect(self.reset_requested)
        bar.addWidget(reset)
        bar.addWidget(self._export_button())

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        for button, icon in self._icons.items():
            button.setIcon(theme.icon(icon, theme.muted))

    def _button(self, icon: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setProperty("role", "small")
        button.setIconSize(QSize(14, 14))
        button.setToolTip(tip)
        button.setAccessibleName(f"{self._plot.title}: {tip.lower()}")
        self._icons[button] = icon
        return button

    def _export_button(self) -> QToolButton:
        button = self._button("download-outline", "Export as PNG, SVG or CSV")
        button.setObjectName(f"{self._plot.name}_export")
        menu = QMenu(button)
        for kind in KINDS:
            menu.addAction(f"Export {kind.upper()}…", partial(self.export_requested.emit, kind))
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button
