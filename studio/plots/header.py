"""The heading of a plot: its title and its buttons."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QPushButton,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QToolButton,
    QWidget,
)

from studio.plots.catalogue import PlotSpec
from studio.theme.theme import Theme
from studio.widgets.figure_export import fill_export_menu
from td3core.text import Text, tr

_MAXIMISE = Text("Fill the middle of the window with this plot")
_RESTORE = Text("Show all plots again ({key})", key="Esc")
_AROUND, _GAP = 10, 2
"""Pixels around the title, and between the buttons."""


class _Title(QPushButton):
    """A title that is elided if a button takes its space."""

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the button with as much text as fits."""
        painter, option = QStylePainter(self), QStyleOptionButton()
        self.initStyleOption(option)
        contents = QStyle.SubElement.SE_PushButtonContents
        room = self.style().subElementRect(contents, option, self).width()
        mode = Qt.TextElideMode.ElideRight
        option.text = option.fontMetrics.elidedText(option.text, mode, room)
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)
        painter.end()


class PlotHeader(QWidget):
    """Title, logarithmic scale, reset of the view, export, full size."""

    log_toggled = Signal(bool)
    reset_requested = Signal()
    chosen = Signal()
    """The user clicked the title: enlarge this plot or, if it is large, explain it."""
    maximise_toggled = Signal(bool)
    export_requested = Signal(str)
    """Carries the kind of file, one of :data:`~studio.widgets.figure_export.KINDS`."""

    def __init__(self, plot: PlotSpec) -> None:
        super().__init__()
        self._plot = plot
        self._icons: dict[QToolButton, str] = {}
        self._small = self._revealed = False
        self._less_wanted: list[QToolButton] = []
        self.title = title = _Title(str(plot.title))
        self._heading: QWidget = title
        title.setObjectName(f"{plot.name}_title")
        title.setAccessibleName(tr("Show {plot} large, or explain it", plot=plot.title))
        title.setProperty("role", "plot_title")
        title.setToolTip(str(plot.help))
        title.setMinimumWidth(20)
        title.clicked.connect(self.chosen)
        self._bar = bar = QHBoxLayout(self)
        bar.setContentsMargins(6, 6, 2, 0)
        bar.setSpacing(_GAP)
        bar.addWidget(title)
        bar.addStretch(1)
        self._log: QToolButton | None = None
        if plot.log_button:
            self._log = log = self._button("math-log", Text("Logarithmic scale"))
            self._less_wanted.append(log)
            log.setCheckable(True)
            log.setChecked(True)
            log.toggled.connect(self.log_toggled)
            bar.addWidget(log)
        self._reset = reset = self._button(
            "fit-to-page-outline", Text("Show everything again (double click)")
        )
        reset.clicked.connect(self.reset_requested)
        bar.addWidget(reset)
        export = self._export_button()
        bar.addWidget(export)
        self._less_wanted += [reset, export]
        bar.addWidget(self._maximise_button())

    def replace_title(self, control: QWidget) -> None:
        """Replace the title by a control."""
        self.title.hide()
        self._heading = control
        self._bar.insertWidget(0, control)

    def set_logarithmic(self, on: bool) -> None:
        """Set the scale as the button does, even if there is no button."""
        if self._log is not None:
            self._log.setChecked(on)
        else:
            self.log_toggled.emit(on)

    @property
    def stops(self) -> tuple[QWidget, ...]:
        """The title and the buttons, in order."""
        return self._heading, *self._icons

    def set_small(self, small: bool) -> None:
        """Hide the buttons that do not fit into a small plot."""
        self._small = small
        self._fit()

    def reveal(self, revealed: bool) -> None:
        """Set whether the full-size button is shown even if the title needs its space."""
        if revealed is not self._revealed:
            self._revealed = revealed
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Give the title the space of buttons if needed: a click or key does the same."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        shown = [each for each in self._icons if not (self._small and each in self._less_wanted)]
        width = self.width()
        room = width - self._heading.sizeHint().width() - _AROUND
        for button in (self._reset, self._maximise):
            if sum(each.sizeHint().width() + _GAP for each in shown) > room and button in shown:
                shown.remove(button)
        if self._revealed and self._maximise not in shown:
            shown.append(self._maximise)
        for button in self._icons:
            button.setHidden(button not in shown)
        # Showing a button can lay out the plots again, and change what fits.
        if self.width() != width:
            self._fit()

    def toggle_maximised(self) -> None:
        """Act like the full-size button."""
        self._maximise.toggle()

    def show_maximised(self, maximised: bool) -> None:
        """Show whether the plot fills the window's middle."""
        with QSignalBlocker(self._maximise):
            self._maximise.setChecked(maximised)
        self._maximise.setToolTip(str(_RESTORE if maximised else _MAXIMISE))

    def _maximise_button(self) -> QToolButton:
        self._maximise = self._button("arrow-expand-all", _MAXIMISE)
        self._maximise.setObjectName(f"{self._plot.name}_maximise")
        self._maximise.setCheckable(True)
        self._maximise.toggled.connect(self.maximise_toggled)
        return self._maximise

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        for button, icon in self._icons.items():
            button.setIcon(theme.icon(icon, theme.muted))

    def _button(self, icon: str, tip: Text) -> QToolButton:
        button = QToolButton()
        button.setProperty("role", "small")
        button.setProperty("icon_px", 14)
        button.setToolTip(str(tip))
        button.setAccessibleName(tr("{plot}: {action}", plot=self._plot.title, action=tip))
        self._icons[button] = icon
        return button

    def _export_button(self) -> QToolButton:
        button = self._button("download-outline", Text("Export as PNG, SVG or CSV"))
        button.setObjectName(f"{self._plot.name}_export")
        menu = QMenu(button)
        fill_export_menu(menu, self.export_requested.emit)
        self.export_menu = menu
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button
