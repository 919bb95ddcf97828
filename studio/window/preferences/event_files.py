"""The setting that lets every run write event files for TensorBoard."""

import os
from pathlib import Path

from PySide6.QtCore import QSettings

from studio.window.preferences.dialog import Switch
from td3core.exporters.live.registry import TENSORBOARD
from td3core.exporters.live.tensorboard import installed
from td3core.system.packages import command_for
from td3core.text import tr

_VARIABLE = TENSORBOARD.variable
_KEY, _FOLDER = "tensorboard", "tensorboard"


class EventFiles:
    """Switches the event files of the runs that start from now on, in this window.

    Runs train in this process and in others, all of which read the environment.
    """

    def __init__(self, settings: QSettings, runs_dir: Path) -> None:
        """Restore what was chosen, unless the user has set the variable."""
        self._settings, self._folder = settings, (runs_dir / _FOLDER).absolute()
        self._elsewhere = os.environ.get(_VARIABLE, "")
        if self._elsewhere == str(self._folder):
            self._elsewhere = ""
        self._apply()

    def switch(self) -> Switch:
        """Return the setting for the dialog."""
        fixed = ""
        if self._elsewhere:
            fixed = tr("{variable} is set: into {path}", variable=_VARIABLE, path=self._elsewhere)
        elif not installed():
            fixed = tr("It needs a package: {command}", command=command_for("tensorboard"))
        return Switch(
            name="tensorboard",
            group=tr("Training"),
            text=tr("Write TensorBoard files for every run"),
            tip=tr("Into {path}, from the next run on", path=str(self._folder)),
            read=lambda: bool(self._elsewhere) or self._chosen,
            write=self._write,
            fixed=fixed,
        )

    @property
    def _chosen(self) -> bool:
        return bool(self._settings.value(_KEY, False, bool)) and installed()

    def _write(self, on: bool) -> None:
        self._settings.setValue(_KEY, on)
        self._apply()

    def _apply(self) -> None:
        if self._elsewhere:
            return
        if self._chosen:
            os.environ[_VARIABLE] = str(self._folder)
        else:
            os.environ.pop(_VARIABLE, None)
