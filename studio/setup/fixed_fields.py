"""A field for each setting that is fixed for a run, most of them under Advanced."""

from collections.abc import Collection, Mapping
from typing import Any

from PySide6.QtCore import QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QAbstractSpinBox, QFormLayout, QLabel, QLineEdit, QWidget

from studio.setup.info_field import InfoField
from studio.widgets.collapsible import Collapsible
from studio.widgets.forms import make_form, setting_label
from studio.widgets.setting_fields import make_field
from td3core.config import RunConfig, default, spec, specs
from td3core.errors import RequestError
from td3core.text import Text, tr

_CHOSEN_ELSEWHERE = ("env", "preset")
_ABOVE_ADVANCED = ("seed", "steps")
_WIDE = ("env_args", "info_columns")
_ON_DISK = (
    *("steps", "keep_replay", "buffer_size", "actor_hidden", "critic_hidden", "twin_critics"),
    *("algorithm", "eval_interval", "checkpoint_interval", "keep_every", "keep_best"),
)
"""Settings that affect how much disk space a run takes."""


_GROUPS = (
    (
        Text("Network"),
        (
            *("algorithm", "actor_hidden", "critic_hidden"),
            *("actor_activation", "critic_activation"),
            *("critic_layer_norm", "twin_critics", "normalize_observations"),
        ),
    ),
    (Text("Exploration"), ("learning_starts", "buffer_size")),
    (Text("Reward"), ("reward_scale",)),
    (
        Text("Evaluation"),
        ("eval_interval", "eval_episodes", "bias_interval", "background_evaluation"),
    ),
    (Text("Saving"), ("checkpoint_interval", "keep_every", "keep_best", "keep_replay")),
    (
        Text("Environment and machine"),
        ("env_args", "info_columns", "env_check", "num_envs", "env_processes", "device", "threads"),
    ),
)
"""Headings under Advanced, each with its settings; a setting that no heading has comes last."""


def _heading(text: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("role", "title")
    return label


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
        info = self._fields["info_columns"]
        self.info = InfoField(info.widget, info.read, info.write)
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

    def sort_tabs(self, after_seed: QWidget) -> None:
        """Let Tab come to a field between the seed and the steps, where it is seen."""
        seed, steps = self._fields["seed"].widget, self._fields["steps"].widget
        QWidget.setTabOrder(seed, after_seed)
        QWidget.setTabOrder(after_seed, steps)

    def _make_advanced(self) -> Collapsible:
        page = QWidget()
        form = self._advanced_form = make_form()
        page.setLayout(form)
        shown = {name for _, names in _GROUPS for name in names} | set(_ABOVE_ADVANCED)
        rest = tuple(name for name in self._fields if name not in shown)
        for heading, names in (*_GROUPS, (Text("Other"), rest)):
            if names:
                form.addRow(_heading(str(heading)))
            for name in names:
                label = setting_label(spec(RunConfig, name))
                if name in _WIDE:
                    form.addRow(label)
                    form.addRow(self.info if name == "info_columns" else self._fields[name].widget)
                else:
                    form.addRow(label, self._fields[name].widget)
        box = Collapsible(tr("Advanced"), page)
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

    def write_preset(self, values: Mapping[str, Any], keep: Collection[str] = ()) -> None:
        """Show the values of a preset, and defaults for the settings it leaves open.

        The seed stays and what ``keep`` names, and so do environment arguments that the preset
        does not set, and what is recorded of the environment's info.
        """
        kept = {"seed", *keep, *({"env_args", "info_columns"} - values.keys())}
        names = [name for name in self._fields if name not in kept]
        self.write({name: values.get(name, default(name)) for name in names})

    def write_config(self, config: RunConfig) -> None:
        """Show the settings of a run."""
        self.write({name: getattr(config, name) for name in self._fields})

    def focus(self, name: str) -> None:
        """Focus the field of a setting, with its text selected."""
        widget = self._fields[name].widget
        widget.setFocus()
        if isinstance(widget, QAbstractSpinBox | QLineEdit):
            widget.selectAll()

    def reveal(self, name: str) -> tuple[str, QWidget] | None:
        """Reveal the field of a setting; return its label and widget, None if there is none."""
        field = self._fields.get(name)
        if field is None:
            return None
        if name not in _ABOVE_ADVANCED:
            self.advanced.expand()
        return str(spec(RunConfig, name).label), field.widget
