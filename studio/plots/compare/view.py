"""The view of a comparison, in place of the plots of one run."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QSplitter, QVBoxLayout, QWidget

from studio.plots.compare.bar import CompareBar
from studio.plots.compare.grid import CompareGrid
from studio.plots.compare.session import CompareSession
from studio.plots.compare.table import CompareTable
from studio.theme.theme import Theme
from td3core.text import Text

_SHARES = (72, 28)
"""Shares of plots and table, in percent of the height."""


class RunComparisonView(QWidget):
    """Controls, plots and table of a comparison, and the session behind them."""

    refused = Signal(object)
    report_requested = Signal(object, object)
    """Write a report about these runs, a list of paths, with these command options."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("compare_view")
        self._take_room(shown=False)
        self._theme = theme
        self.session = CompareSession(self)
        self.session.refused.connect(self.refused)
        self.session.opening.connect(self.make_parts)

    @Slot()
    def make_parts(self) -> None:
        """Make the plots, on first use at the latest: at start they would delay the window."""
        if self.layout() is not None:
            return
        theme = self._theme
        self.bar = CompareBar(self.session, theme)
        self.plots = CompareGrid(self.session, theme)
        self.table = CompareTable(self.session, theme)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setObjectName("compare_splitter")
        splitter.setChildrenCollapsible(False)
        for part, share in zip((self.plots, self.table), _SHARES, strict=True):
            splitter.addWidget(part)
            splitter.setStretchFactor(splitter.indexOf(part), share)
        splitter.setSizes([10 * share for share in _SHARES])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.bar)
        layout.addWidget(splitter, 1)
        self.bar.refused.connect(self.refused)
        self.plots.message.connect(self.refused)
        self.bar.report_wanted.connect(self._ask_report)

    @Slot()
    def _ask_report(self) -> None:
        runs = self.session.reported()
        if runs:
            self.report_requested.emit(runs, self.session.report_options())
        else:
            self.refused.emit(Text("No group is shown: there is nothing to report."))

    def _take_room(self, *, shown: bool) -> None:
        """Require a height at which nothing is squeezed, but only while shown."""
        # While hidden, it must not force the panels around it to stay small.
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Ignored, policy.Preferred if shown else policy.Ignored)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Require the height."""
        super().showEvent(event)
        self._take_room(shown=True)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Require no height."""
        super().hideEvent(event)
        self._take_room(shown=False)

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        if self.layout() is not None:
            for part in (self.bar, self.plots, self.table):
                part.set_theme(theme)

    def shutdown(self) -> None:
        """Stop reading."""
        self.session.shutdown()
