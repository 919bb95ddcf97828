"""Fields for the settings that are fixed for a run, most of them under Advanced."""

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QObject, QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QFormLayout, QLineEdit, QWidget

from studio.setup.info_field import Ask, InfoField
from studio.widgets.collapsible import Collapsible
from studio.widgets.form_area import point_to
from studio.widgets.forms import make_form, setting_label
from studio.widgets.labels import title_label
from studio.widgets.setting_fields import Field, guard_wheel, make_field
from td3core.config import RunConfig, default, spec, specs
from td3core.config.algorithms import unused_by
from td3core.errors import RequestError
from td3core.text import Text, tr

_CHOSEN_ELSEWHERE = ("env", "preset")
_ABOVE_ADVANCED = ("seed", "steps")
_WIDE = ("env_args", "info_columns")
_ON_DISK = (
    *("steps", "keep_replay", "buffer_size", "actor_hidden", "critic_hidden", "twin_critics"),
    *("algorithm", "quantiles", "eval_interval", "checkpoint_interval", "keep_every", "keep_best"),
)
"""Settings that affect how much disk space a run takes."""


_GROUPS = (
    (
        Text("Network"),
        (
            *("algorithm", "actor_hidden", "critic_hidden"),
            *("actor_activation", "critic_activation"),
            *("critic_layer_norm", "twin_critics", "quantiles", "normalize_observations"),
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
        (
            *("env_args", "info_columns", "env_check", "num_envs", "env_processes"),
            *("update_while_stepping", "device", "threads"),
        ),
    ),
)
"""Headings under Advanced with their settings; settings without a heading come last."""


class FixedFields(QObject):
    """The fields of a form, except environment and preset, which have widgets of their own.

    Those under Advanced are made on first use: they are two thirds of the form's widgets, and most
    windows never show them. Until then their values are kept here.
    """

    changed = Signal()
    disk_changed = Signal()
    """A setting changed that affects the disk space of the run."""
    env_args_entered = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = tuple(n for n, _ in specs(RunConfig) if n not in _CHOSEN_ELSEWHERE)
        self._fields: dict[str, Field] = {}
        self._kept = {name: default(name) for name in self._names}
        """Values of the fields not made yet."""
        self._own = [name for name in self._names if name in unused_by("")]
        """Settings that not every algorithm uses."""
        self._unused = frozenset[str]()
        self._info: InfoField | None = None
        self._ask: Ask | None = None
        for name in _ABOVE_ADVANCED:
            self._make(name).widget.setObjectName(f"{name}_spin")
        self._page, self._form = QWidget(), make_form()
        self._page.setLayout(self._form)
        self.advanced = Collapsible(tr("Advanced"), self._page)
        self.advanced.setObjectName("advanced")
        self.advanced.opening.connect(self.make_all)

    def _make(self, name: str) -> Field:
        field = self._fields[name] = make_field(name, spec(RunConfig, name), default(name))
        value = self._kept.pop(name)
        if value != default(name):
            field.write(value)
        field.changed.connect(self.changed)
        if name in _ON_DISK:
            field.changed.connect(self.disk_changed)
        return field

    @Slot()
    def make_all(self) -> None:
        """Make the fields under Advanced, unless they exist."""
        if not self._kept:
            return
        for name in tuple(self._kept):
            self._make(name)
        arguments = self._fields["env_args"].widget
        assert isinstance(arguments, QLineEdit)
        arguments.setPlaceholderText('{"xml_file": "/path/to/ant.xml"}')
        arguments.editingFinished.connect(self.env_args_entered)
        info = self._fields["info_columns"]
        self._info = InfoField(info.widget, info.read, info.write)
        if self._ask is not None:
            self._info.use_query(self._ask)
        self._add_advanced_rows(self._info)
        guard_wheel(self._page)

    def use_query(self, ask: Ask) -> None:
        """Set the query that examines the environment in the form, before the fields are made."""
        self._ask = ask

    def shutdown(self) -> None:
        """End the process that still examines an environment."""
        if self._info is not None:
            self._info.shutdown()

    def add_main_rows(self, form: QFormLayout) -> None:
        """Add the rows of the settings that are always shown."""
        for name in _ABOVE_ADVANCED:
            form.addRow(setting_label(spec(RunConfig, name)), self._fields[name].widget)

    def add_advanced_row(self, widget: QWidget) -> None:
        """Add a row below the settings under Advanced."""
        self._form.addRow(widget)

    def sort_tabs(self, after_seed: QWidget) -> None:
        """Put a field between seed and steps in the Tab order, as on screen."""
        seed, steps = self._fields["seed"].widget, self._fields["steps"].widget
        QWidget.setTabOrder(seed, after_seed)
        QWidget.setTabOrder(after_seed, steps)

    def _add_advanced_rows(self, info: InfoField) -> None:
        """Add the rows of the fields under Advanced, above the existing ones."""
        shown = {name for _, names in _GROUPS for name in names} | set(_ABOVE_ADVANCED)
        rest = tuple(name for name in self._names if name not in shown)
        rows: list[tuple[QWidget, ...]] = []
        stops: list[QWidget] = [self.advanced.heading]
        for heading, names in (*_GROUPS, (Text("Other"), rest)):
            if names:
                rows.append((title_label(str(heading)),))
            for name in names:
                label, widget = setting_label(spec(RunConfig, name)), self._fields[name].widget
                stops.append(widget)
                if name == "info_columns":
                    stops.append(info.button)
                    widget = info
                rows += [(label,), (widget,)] if name in _WIDE else [(label, widget)]
        for place, row in enumerate(rows):
            self._form.insertRow(place, *row)
        self._hide_unused()
        # Otherwise late widgets would be last in the Tab order.
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def show_algorithm(self, algorithm: str) -> None:
        """Hide the settings that only other algorithms use."""
        self._unused = unused_by(algorithm)
        self._hide_unused()

    def _hide_unused(self) -> None:
        for name in self._own:
            if name in self._fields:
                self._form.setRowVisible(self._fields[name].widget, name not in self._unused)

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Enable or disable the field of a setting."""
        self._fields[name].widget.setEnabled(enabled)

    # Values -------------------------------------------------------------------------------------

    def env_args(self) -> str:
        """Return the environment arguments as entered."""
        return str(self._read("env_args"))

    def values(self) -> dict[str, Any]:
        """Return the values entered.

        Raises:
            RequestError: a value cannot be read.
        """
        return {name: self._read(name) for name in self._names}

    def _read(self, name: str) -> Any:
        return self._kept[name] if name in self._kept else self._fields[name].read()

    def readable_values(self) -> dict[str, Any]:
        """Return the values entered; ``None`` for unreadable ones."""
        found: dict[str, Any] = {}
        for name in self._names:
            try:
                found[name] = self._read(name)
            except RequestError:
                found[name] = None
        return found

    def write(self, values: Mapping[str, Any]) -> None:
        """Show these values without emitting ``changed``."""
        for name, value in values.items():
            if name in self._kept:
                self._kept[name] = value
                continue
            field = self._fields[name]
            with QSignalBlocker(field.widget):
                field.write(value)

    def write_preset(self, values: Mapping[str, Any], keep: Collection[str] = ()) -> None:
        """Show the values of a preset, and defaults for its missing settings.

        The seed and the settings in ``keep`` stay, and so do environment arguments that the preset
        does not set, and the recorded info columns.
        """
        kept = {"seed", *keep, *({"env_args", "info_columns"} - values.keys())}
        names = [name for name in self._names if name not in kept]
        self.write({name: values.get(name, default(name)) for name in names})

    def write_config(self, config: RunConfig) -> None:
        """Show the settings of a run."""
        self.write({name: getattr(config, name) for name in self._names})

    def focus(self, name: str) -> None:
        """Focus the field of a setting, with its text selected."""
        point_to(self._fields[name].widget)

    def point_out(self, name: str) -> None:
        """Reveal and focus the field of a setting, if it has one here."""
        if name not in self._names:
            return
        if name not in _ABOVE_ADVANCED:
            self.advanced.expand()
        self.focus(name)
