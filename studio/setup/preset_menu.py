"""The menu next to the presets: save, import, export, delete."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMenu, QToolButton

from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.background_task import BackgroundTask
from studio.widgets.file_question import ask_for_file
from studio.widgets.messages import choose
from td3core.config import RunConfig, Tunables, make_settings
from td3core.config.presets import (
    Preset,
    delete_preset,
    own_preset,
    parse_preset,
    preset_of,
    preset_text,
    save_preset,
)
from td3core.errors import RequestError, unreadable, unwritable
from td3core.system.files import write_atomically
from td3core.system.regular_files import read_text
from td3core.text import tr

Settings = Callable[[], tuple[RunConfig, Tunables]]


class PresetMenu(QToolButton):
    """Manages the user's own presets."""

    presets_changed = Signal(str)
    """Names the new preset; empty if one was deleted."""
    refused = Signal(object)

    def __init__(self, settings: Settings, chosen: Callable[[], str]) -> None:
        """Take ``settings``, which returns what to save, and ``chosen``, the selected preset."""
        super().__init__()
        self._settings, self._chosen = settings, chosen
        self._reader = BackgroundTask("read-preset", self)
        self._writer = BackgroundQueue("write-preset", self)
        for worker in (self._reader, self._writer):
            worker.failed.connect(self.refused)
        self.setObjectName("preset_menu_button")
        self.setProperty("role", "small")
        self.setAccessibleName(tr("Save, import, export or delete a preset"))
        self.setToolTip(tr("Save, import, export or delete a preset"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.addAction(tr("Save settings as preset…"), self._ask_save)
        menu.addAction(tr("Import…"), self._ask_import)
        menu.addAction(tr("Export…"), self._ask_export)
        self._deletion = menu.addAction(tr("Delete this preset"), self._delete)
        menu.aboutToShow.connect(self._offer_deletion)
        self.setMenu(menu)

    def save(self, name: str) -> None:
        """Save the current settings under a name."""
        self._attempt(lambda: self._save(name.strip(), *self._settings()))

    def import_from(self, path: Path) -> None:
        """Import a preset file."""
        self._reader.read(lambda _: _read_preset(path), self._save_imported)

    def export_to(self, path: Path) -> None:
        """Write the current settings to a preset file."""
        self._attempt(lambda: self._export(path, *self._settings()))

    def _save(self, name: str, config: RunConfig, tunables: Tunables) -> str | None:
        """Save a preset, unless the user keeps one of that name; return the name."""
        old = own_preset(name)
        if old is not None and not self._replaces(old):
            return None
        return save_preset(name, config, tunables).name

    def _replaces(self, old: Preset) -> bool:
        way = choose(
            self,
            "replace_preset_question",
            tr("There is a preset {name} already", name=old.name),
            tr("It is one of {env}. Replacing it cannot be undone.", env=old.env),
            {"replace": tr("Replace")},
        )
        return way == "replace"

    def _is_unwanted(self, own: Preset) -> bool:
        way = choose(
            self,
            "delete_preset_question",
            tr("Delete the preset {name}", name=own.name),
            tr("It is one of {env}. Deleting it cannot be undone.", env=own.env),
            {"delete": tr("Delete")},
            question=tr("Delete the preset {name}?", name=own.name),
        )
        return way == "delete"

    def _save_imported(self, found: tuple[str, RunConfig, Tunables]) -> None:
        self._attempt(lambda: self._save(*found))

    def _export(self, path: Path, config: RunConfig, tunables: Tunables) -> None:
        preset = preset_of(path.stem, config, tunables)
        self._writer.add(partial(_write_preset, path, preset))

    @Slot()
    def _offer_deletion(self) -> None:
        self._deletion.setEnabled(own_preset(self._chosen()) is not None)

    def _delete(self) -> None:
        # A queued run that starts during the question shows its own preset.
        name = self._chosen()

        def delete() -> str | None:
            own = own_preset(name)
            if own is not None and not self._is_unwanted(own):
                return None
            delete_preset(name)
            return ""

        self._attempt(delete)

    def _attempt(self, act: Callable[[], str | None]) -> None:
        """Report a refusal, or the name that ``act`` returns; None if no preset has changed."""
        try:
            name = act()
        except RequestError as problem:
            self.refused.emit(problem.message)
            return
        if name is not None:
            self.presets_changed.emit(name)

    def _ask_save(self) -> None:
        def save() -> str | None:
            # A queued run that starts during the question shows its own settings.
            shown = self._settings()
            name, agreed = QInputDialog.getText(self, tr("Save preset"), tr("Name of the preset:"))
            return self._save(name.strip(), *shown) if agreed else None

        self._attempt(save)

    def _ask_import(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Import preset"), "", tr("Presets (*.toml)"))
        if path:
            self.import_from(Path(path))

    def _ask_export(self) -> None:
        def export() -> None:
            shown, first = self._settings(), f"{self._chosen()}.toml"
            kinds = {tr("Presets (*.toml)"): (".toml",)}
            path = ask_for_file(self, tr("Export preset"), first, kinds, self.refused.emit)
            if path is not None:
                self._export(path, *shown)

        self._attempt(export)


def _read_preset(path: Path) -> tuple[str, RunConfig, Tunables]:
    try:
        preset = parse_preset(read_text(path))
    except (OSError, UnicodeDecodeError) as problem:
        raise unreadable(Path(path.name), problem) from problem
    if not preset.env:
        raise RequestError("{file} does not name an environment.", file=path.name)
    return preset.name.strip(), *make_settings({**preset.values, "env": preset.env})


def _write_preset(path: Path, preset: Preset) -> None:
    try:
        write_atomically(path, preset_text(preset).encode())
    except OSError as problem:
        raise unwritable(path, problem) from problem
