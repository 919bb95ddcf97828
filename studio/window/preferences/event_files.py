"""The settings that make every run write event files for TensorBoard, with a film at its end."""

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSettings

from studio.window.preferences.dialog import Switch
from td3core.exporters.live.registry import TENSORBOARD
from td3core.exporters.live.tensorboard import installed
from td3core.system.packages import command_for
from td3core.text import tr

_VARIABLE = TENSORBOARD.variable
_KEY, _FILM_KEY, _FOLDER = "tensorboard", "tensorboard_film", "tensorboard"


class EventFiles:
    """Switches event files for runs started from now on in this window.

    Runs train in this process and in others, which all read the environment variable.
    """

    def __init__(self, settings: QSettings, runs_dir: Path, no_films: Callable[[], object]) -> None:
        """Restore the choice, unless the user has set the variable.

        ``no_films`` is called when films are switched off.
        """
        self._settings, self._folder = settings, (runs_dir / _FOLDER).absolute()
        self._no_films = no_films
        self._elsewhere = os.environ.get(_VARIABLE, "")
        if self._elsewhere == str(self._folder):
            self._elsewhere = ""
        self._apply()

    @property
    def film_folder(self) -> Path | None:
        """Folder for films of ended runs; None if they are not wanted."""
        return TENSORBOARD.target if self._films_chosen and installed() else None

    def switches(self) -> tuple[Switch, Switch]:
        """Return the settings for the dialog."""
        files = self._switch()
        film = Switch(
            name="tensorboard_film",
            group=files.group,
            text=tr("Add a film of the best agent at the end"),
            tip=tr(
                "Adds a film of one episode of each run to its TensorBoard images, rendered in the"
                " background"
            ),
            read=lambda: self._films_chosen,
            write=self._write_film,
            fixed="" if installed() else files.fixed,
            needs=files.name,
        )
        return files, film

    def _switch(self) -> Switch:
        fixed = ""
        if self._elsewhere:
            fixed = tr(
                "{variable} is set; files go to {path}", variable=_VARIABLE, path=self._elsewhere
            )
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

    @property
    def _films_chosen(self) -> bool:
        return bool(self._settings.value(_FILM_KEY, False, bool))

    def _write(self, on: bool) -> None:
        self._settings.setValue(_KEY, on)
        self._apply()
        if not on:
            self._no_films()

    def _write_film(self, on: bool) -> None:
        self._settings.setValue(_FILM_KEY, on)
        if not on:
            self._no_films()

    def _apply(self) -> None:
        if self._elsewhere:
            return
        if self._chosen:
            os.environ[_VARIABLE] = str(self._folder)
        else:
            os.environ.pop(_VARIABLE, None)
