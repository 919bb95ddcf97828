"""Restores a shared window to the state of a new one."""

import shutil

from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QDialog, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from studio.plots.catalogue import PLOTS
from studio.plots.header import PlotHeader
from studio.plots.layers.curve_layers import CurveLayer
from studio.plots.view_range import NO_LIMITS
from studio.session.controller import SessionState
from studio.window.main_window import MainWindow
from td3core.errors import RequestError
from tests.studio.fake_runs import open_record

SIZE = (1280, 800)
"""The offscreen display is smaller than the usual window."""
_FIRST_ENV, _OTHER_ENV = "BipedalWalker-v3", "Pendulum-v1"


class Renewal:
    """Undoes what tests do to a window: runs shown, messages, panels, plots, forms, theme, size.

    It knows neither runs that were started nor groups and queues, and the page that a window shows
    before its first run is gone for good: tests of these have windows of their own.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._layout = window.saveState()
        self._forms = self._read_forms()
        self._smoothing = self._read_smoothing()

    def __call__(self, qtbot: QtBot) -> None:
        """Restore the initial state."""
        window = self._window
        for dialog in window.findChildren(QDialog):
            dialog.close()
        # Deferred work of the last test must not reach the next one.
        QApplication.processEvents()
        if window.comparison.session.active:
            window.comparison.session.close()
        window.controller.state_changed.emit(SessionState.IDLE)
        if window.theme.dark:
            window.switch_theme()
        self._remove_runs(qtbot)
        window.resize(*SIZE)
        # This, and everything else read before it is undone, lays out the window again.
        if window.saveState() != self._layout:
            window.restoreState(self._layout)
        self._renew_forms()
        open_record(window)
        self._renew_plots()
        window.replay.show_message("")
        window.banner.hide()
        window.log.clear()
        window.show()
        window.activateWindow()
        window.setFocus()

    def _remove_runs(self, qtbot: QtBot) -> None:
        window = self._window
        window.runs.search.clear()
        shutil.rmtree(window.runs_dir, ignore_errors=True)
        if window.runs.model.rows:
            window.runs.refresh()
            qtbot.waitUntil(lambda: not window.runs.model.rows, timeout=20_000)

    def _find(self, kind: type[QWidget], name: str) -> QWidget:
        found = self._window.findChild(kind, name)
        assert found is not None, name
        return found

    def _read_forms(self) -> object:
        try:
            return self._window.setup.settings(self._window.live.tunables())
        except RequestError:
            return None

    def _renew_forms(self) -> None:
        window = self._window
        seeds, env = self._find(QLineEdit, "seeds_edit"), self._find(QComboBox, "env_combo")
        assert isinstance(seeds, QLineEdit)
        assert isinstance(env, QComboBox)
        seeds.clear()
        if self._read_forms() != self._forms:
            # Its preset brings all values but two, and leaves nothing to take back.
            for name in (_OTHER_ENV, _FIRST_ENV):
                env.setCurrentText(name)
            window.setup.findChild(QComboBox, "variant_combo").setCurrentIndex(0)
            window.setup.findChild(QWidget, "seed_spin").setValue(0)
        own_process = self._find(QCheckBox, "own_process_check")
        assert isinstance(own_process, QCheckBox)
        own_process.setChecked(False)
        window.setup.findChild(QWidget, "advanced").heading.setChecked(False)
        window.live.forget_edits()
        window.setup.forget_entries()
        assert self._read_forms() == self._forms, "the forms are those of the test before"

    def _read_smoothing(self) -> dict[str, list[tuple[int, int]]]:
        return {
            name: [(layer.episodes, layer.smoothing) for layer in self._curves(name)]
            for name in self._window.plots.names
        }

    def _curves(self, name: str) -> list[CurveLayer]:
        layers = self._window.plots.card(name).layers
        return [layer for layer in layers if isinstance(layer, CurveLayer)]

    def _renew_plots(self) -> None:
        plots = self._window.plots
        if plots.maximised:
            plots.maximise("")
        smoothed = self._read_smoothing() != self._smoothing
        axis = self._find(QComboBox, "plots_x_combo")
        assert isinstance(axis, QComboBox)
        axis.setCurrentIndex(0)
        axis.activated.emit(0)
        for spec in PLOTS:
            card = plots.card(spec.name)
            card.hovered.emit(None)
            card.set_limits(NO_LIMITS)
            header = card.findChild(PlotHeader)
            assert header is not None
            header.set_logarithmic(spec.log_button)
            for layer, (episodes, values) in zip(
                self._curves(spec.name), self._smoothing[spec.name], strict=True
            ):
                layer.smooth_over(episodes=episodes, values=values)
                for column in layer.added_columns:
                    layer.remove(column)
                for column in layer.shown_columns:
                    layer.show_curve(column, True)
        # The slider shows the smoothing of the plot that becomes large.
        for spec in (PLOTS[1], PLOTS[0]) if smoothed else PLOTS[:1]:
            plots.show_large(spec.name)
        plots.start_over()
