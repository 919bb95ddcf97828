"""Remembers the forms and the current run between sessions of the window."""

import contextlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal

from studio.live.live_panel import LivePanel
from studio.plots.run.grid import PlotGrid
from studio.session.controller import RunController
from studio.session.history import RunHistory, read_history
from studio.session.model import RunModel
from studio.setup.setup_panel import SetupPanel
from studio.tasks.background_task import BackgroundTask
from td3core.config import make_settings, to_dict
from td3core.errors import RequestError
from td3core.system.regular_files import MALFORMED


class SessionMemory(QObject):
    """Reads and writes the application's settings; a run is read in the background."""

    opened = Signal(object)
    """The run shown when the window was last closed."""

    def __init__(
        self,
        settings: QSettings,
        setup: SetupPanel,
        live: LivePanel,
        plots: PlotGrid,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._settings, self._setup, self._live, self._plots = settings, setup, live, plots
        # A run that can no longer be read is not reported: the user did not ask for it.
        self._reader = BackgroundTask("reopen-run", self)

    def restore_forms(self) -> None:
        """Show the settings of the last session, as far as this version still accepts them."""
        self._plots.show_large(str(self._settings.value("large_plot", "")))
        self._restore_quantities()
        try:
            values = json.loads(str(self._settings.value("forms", "{}")))
            config, tunables = make_settings(values)
        except MALFORMED:
            return
        self._setup.show_settings(config)
        self._live.show_tunables(tunables)
        self._live.forget_edits()

    def _restore_quantities(self) -> None:
        """Restore the quantities added to the plots in the last session."""
        with contextlib.suppress(*MALFORMED):
            found = json.loads(str(self._settings.value("plot_quantities", "{}")))
            for name, columns in found.items():
                if name in self._plots.names and isinstance(columns, list):
                    self._plots.card(name).add_quantities([str(each) for each in columns])

    def reopen_run(self, model: RunModel, controller: RunController) -> None:
        """Show the run of the last session again, unless another one is shown by then.

        One left in the background is followed. Anything entered in the forms meanwhile stays.
        """
        path = Path(str(self._settings.value("open_run", "")))

        def take(history: RunHistory) -> None:
            if model.record.run is None and not controller.busy:
                entered = self._setup.has_entries or self._live.can_undo
                self.opened.emit(replace(history, reopened=True))
                if not entered and not history.live:
                    # The forms stay as the user left them, not as the run began. A run that trains
                    # shows its own values: the sliders steer it.
                    self.restore_forms()

        if path.is_absolute():
            self._reader.read(partial(read_history, path), take)

    def save(self, run: Path | None) -> None:
        """Store the forms, if they are valid, and the current run."""
        self._settings.setValue("open_run", str(run.absolute()) if run else "")
        self._settings.setValue("large_plot", self._plots.large)
        added = {name: self._plots.card(name).added for name in self._plots.names}
        self._settings.setValue("plot_quantities", json.dumps(added))
        try:
            config, tunables = self._setup.entered(self._live.tunables)
        except RequestError:
            return
        self._settings.setValue("forms", json.dumps(to_dict(config) | to_dict(tunables)))

    def stop(self) -> None:
        """Stop reading."""
        self._reader.cancel()
