"""A field for each setting that is fixed for a run, most of them under Advanced."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QWidget

from studio.widgets.collapsible import Collapsible
from studio.widgets.forms import make_form, setting_label
from studio.widgets.setting_fields import make_field
from td3core.config import RunConfig, default, spec, specs
from td3core.errors import RequestError

_CHOSEN_ELSEWHERE = ("env", "preset")
_ABOVE_ADVANCED = ("seed", "steps")
_WIDE = ("env_args",)
_ON_DISK = (
    *("steps", "keep_replay", "buffer_size", "actor_hidden", "critic_hidden", "twin_critics"),
    *("eval_interval", "checkpoint_interval", "keep_every", "keep_best"),
)
"""Settings that affect how much disk space a run takes."""


class FixedFields(QObject):
    """The fields of a form, except environment and preset, which have widgets of their own."""

    changed = Signal()
    disk_changed = Signal()
    """A setting changed that affects the disk space of the run."""
    env_args_entered = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._fields = {
            name: make_field(name, known, default(name))
            for name, known in specs(RunConfig)
            if name not in _CHOSEN_ELSEWHERE
        }
        for name in _ABOVE_ADVANCED:
            self._fields[name].widget.setObjectName(f"{name}_spin")
        arguments = self._fields["env_args"].widget
        assert isinstance(arguments, QLineEdit)
        arguments.setPlaceholderText('{"xml_file": "/path/to/ant.xml"}')
        arguments.editingFinished.connect(self.env_args_entered)
        for name, field in self._fields.items():
            field.changed.connect(self.changed)
            if name in _ON_DISK:
                field.changed.connect(self.disk_changed)
        self.advanced = self._make_advanced()

    def add_main_rows(self, form: QFormLayout) -> None:
        """Add the rows of the settings that are always shown."""
        for name in _ABOVE_ADVANCED:
            form.addRow(setting_label(spec(RunConfig, name)), self._fields[name].widget)

    def add_advanced_row(self, widget: QWidget) -> None:
        """Add a row below the settings under Advanced."""
        self._advanced_form.addRow(widget)

    def _make_advanced(self) -> Collapsible:
        page = QWidget()
        form = self._advanced_form = make_form()
        page.setLayout(form)
        for name, field in self._fields.items():
            if name in _WIDE:
                form.addRow(setting_label(spec(RunConfig, name)))
                form.addRow(field.widget)
            elif name not in _ABOVE_ADVANCED:
                form.addRow(setting_label(spec(RunConfig, name)), field.widget)
        box = Collapsible("Advanced", page)
        box.setObjectName("advanced")
        return box

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Enable or disable the field of a setting."""
        self._fields[name].widget.setEnabled(enabled)

    # Values -------------------------------------------------------------------------------------

    def env_args(self) -> str:
        """Return the environment arguments as entered."""
        return str(self._fields["env_args"].read())

    def values(self) -> dict[str, Any]:
        """Return the values entered.

        Raises:
            RequestError: one of them cannot be read.
        """
        return {name: field.read() for name, field in self._fields.items()}

    def readable_values(self) -> dict[str, Any]:
        """Return the values entered, ``None`` for one that cannot be read."""
        found: dict[str, Any] = {}
        for name, field in self._fields.items():
            try:
                found[name] = field.read()
            except RequestError:
                found[name] = None
        return found

    def write(self, values: Mapping[str, Any]) -> None:
        """Show these values without emitting ``changed``."""
        for name, value in values.items():
            field = self._fields[name]
            with QSignalBlocker(field.widget):
                field.write(value)

    def write_preset(self, values: Mapping[str, Any]) -> None:
        """Show the values of a preset, and defaults for the settings it leaves open.

        The seed stays, and so do environment arguments that the preset does not set.
        """
        kept = {"seed"} if "env_args" in values else {"seed", "env_args"}
        names = [name for name in self._fields if name not in kept]
        self.write({name: values.get(name, default(name)) for name in names})

    def write_config(self, config: RunConfig) -> None:
        """Show the settings of a run."""
        self.write({name: getattr(config, name) for name in self._fields})

    def reveal(self, problem: str) -> tuple[str, QWidget] | None:
        """Reveal the setting that a refusal names first; return its label and widget."""
        name = problem.partition(" ")[0]
        field = self._fields.get(name)
        if field is None:
            return None
        if name not in _ABOVE_ADVANCED:
            self.advanced.expand()
        return spec(RunConfig, name).label, field.widget
