"""The choice of an earlier run, whose agents are listed as well."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QSizePolicy

from studio.tasks.background_task import BackgroundTask, Stopped
from studio.widgets.labels import plain_tip
from td3core.runs.listing import list_runs
from td3core.runs.naming import names_of
from td3core.text import Text

_CHOOSE = Text("Earlier runs: choose…")
_NONE = Text("No earlier runs")

Runs = list[tuple[Path, str]]
"""Folders of runs with their titles."""


class RunCombo(QComboBox):
    """Offers the runs of a folder except the current one. Reads the folder in the background."""

    run_chosen = Signal(object, str)
    """Path and title of the chosen run; None and an empty title without one."""

    def __init__(self) -> None:
        super().__init__()
        self._runs_dir: Path | None = None
        self._current: Path | None = None
        self._opening = False
        self._reader = BackgroundTask("list-runs", self)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.activated.connect(self._announce)

    def set_runs_dir(self, path: Path) -> None:
        """Offer the runs of a folder, which are read when the list is opened."""
        self._runs_dir = path.absolute()
        self._offer([])
        self._reader.read(partial(_holds_anything, self._runs_dir), self._offer_to_choose)

    def set_current_run(self, path: Path | None) -> None:
        """Leave out the current run, and offer the previous one."""
        self._current = path
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read which runs the folder holds now; the choice stays."""
        if self._runs_dir is not None:
            self._reader.read(partial(_titled_runs, self._runs_dir), self._take)

    def stop(self) -> None:
        """Stop reading."""
        self._reader.cancel()

    def showPopup(self) -> None:  # noqa: N802
        """Re-read the runs before opening the list, so that it includes those made elsewhere."""
        self._opening = True
        self.refresh()

    def _offer_to_choose(self, possible: bool) -> None:
        if possible:
            self.setItemText(0, str(_CHOOSE))
            self.setEnabled(True)

    def _take(self, runs: Runs) -> None:
        shown = self.currentData()
        self._offer([run for run in runs if run[0] != self._current])
        at = self.findData(shown) if shown is not None else 0
        self.setCurrentIndex(max(at, 0))
        if at < 0:
            self._announce()
        opening, self._opening = self._opening, False
        if opening and self.isVisible() and self.isEnabled():
            super().showPopup()

    def _offer(self, runs: Runs) -> None:
        self.clear()
        self.addItem(str(_CHOOSE if runs else _NONE), None)
        for path, title in runs:
            # As text: ``findData`` does not find other Python objects.
            self.addItem(title, str(path))
            self.setItemData(
                self.count() - 1, plain_tip(f"{title}\n{path}"), Qt.ItemDataRole.ToolTipRole
            )
        self.setEnabled(bool(runs))

    @Slot()
    def _announce(self) -> None:
        path = self.currentData()
        if path is None:
            self.run_chosen.emit(None, "")
        else:
            self.run_chosen.emit(Path(path), self.currentText())


def _holds_anything(folder: Path, _: Stopped) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _titled_runs(folder: Path, _: Stopped) -> Runs:
    runs = list(list_runs(folder))
    return list(zip((run.path for run in runs), names_of(runs), strict=True))
