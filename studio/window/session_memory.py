"""Remembers the forms and the current run between sessions of the window."""

import contextlib
import json
from pathlib import Path

from PySide6.QtCore import QSettings

from studio.live.live_panel import LivePanel
from studio.plots.run.grid import PlotGrid
from studio.setup.setup_panel import SetupPanel
from td3core.config import make_settings, to_dict
from td3core.errors import RequestError
from td3core.system.regular_files import MALFORMED


class SessionMemory:
    """Reads and writes the application's settings."""

    def __init__(
        self, settings: QSettings, setup: SetupPanel, live: LivePanel, plots: PlotGrid
    ) -> None:
        self._settings, self._setup, self._live, self._plots = settings, setup, live, plots

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

    @property
    def run(self) -> Path | None:
        """The run shown when the window was last closed, if any."""
        path = Path(str(self._settings.value("open_run", "")))
        return path if path.is_absolute() else None

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
