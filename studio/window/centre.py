"""The centre of the window: the plots of the current run, or a comparison of several."""

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QStackedWidget

from studio.window.parts import WindowParts


class Centre(QObject):
    """Shows the comparison while one is open, and closes it when another run is shown."""

    def __init__(self, stack: QStackedWidget, parts: WindowParts) -> None:
        """``stack`` holds the plots and the comparison."""
        super().__init__(parts.window)
        self._stack, self._parts = stack, parts
        comparing, actions = parts.comparison.session, parts.runs.run_actions
        comparing.opened.connect(self._show_comparison)
        comparing.closed.connect(self._show_plots)
        for announced in (parts.model.run_started, parts.model.run_opened):
            announced.connect(comparing.close)
        actions.compare_requested.connect(comparing.compare)
        actions.group_requested.connect(parts.groups.show_runs)
        for reported in (actions.report_requested, parts.comparison.report_requested):
            reported.connect(parts.tasks.report_runs)

    @Slot()
    def _show_comparison(self) -> None:
        window, comparison = self._parts.window, self._parts.comparison
        focus = window.focusWidget()
        self._stack.setCurrentWidget(comparison)
        # Plots and table need the height; Ctrl+R brings the list back. The runs of a group are
        # controlled in its panel.
        for name in ("runs", *(() if comparison.session.group else ("many",)), "sweeps"):
            self._parts.docks.close(name)
        if focus is None or focus is window or not focus.isVisible():
            comparison.table.tree.setFocus()

    @Slot()
    def _show_plots(self) -> None:
        plots, focus = self._parts.plots, self._parts.window.focusWidget()
        self._stack.setCurrentWidget(plots)
        if focus is not None and self._parts.comparison.isAncestorOf(focus):
            plots.card(plots.large).plot.setFocus()
