"""What to train: environment, preset, seed, length, and all fixed settings under Advanced."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from studio.setup.disk_label import DiskLabel
from studio.setup.env_section import EnvSection
from studio.setup.origin_label import OriginLabel
from studio.setup.preset_menu import PresetMenu
from studio.theme.theme import Theme
from studio.widgets.collapsible import Collapsible
from studio.widgets.forms import make_form, remark, setting_label
from studio.widgets.labels import breakable
from studio.widgets.setting_fields import Field, guard_wheel, make_field
from td3core.config import RunConfig, Tunables, default, make_settings, spec, specs
from td3core.config.presets import PLUS, Preset, load_presets
from td3core.errors import RequestError

FIRST_ENV = "BipedalWalker-v3"
NO_PRESET = "Defaults of TD3"
AS_PUBLISHED = "TD3"
WELCOME = (
    "Pick an environment and press <b>Train</b>. <b>Pendulum-v1</b> learns in about a minute;"
    " the walker takes under an hour. Or watch a bundled agent first, on the right."
)

_USUAL_NAME = 20
_COMBO_FRAME = 36
"""Pixels of a list of choices beside its text: arrow, edge and padding."""
_WIDE = ("env_args",)
_ON_DISK = (
    *("steps", "keep_replay", "buffer_size", "actor_hidden", "critic_hidden", "twin_critics"),
    *("eval_interval", "checkpoint_interval", "keep_every", "keep_best"),
)
"""Settings that what a run takes on disk depends on."""
_OWN_PLACE = ("env", "preset", "seed", "steps")


class SetupPanel(QWidget):
    """The form of everything that is fixed once a run has started."""

    live_defaults_changed = Signal(object)
    refused = Signal(str)
    pointed_out = Signal(QWidget)
    """A field has something wrong, and is to be seen."""

    def __init__(self, live: Callable[[], Tunables], parent: QWidget | None = None) -> None:
        """Take ``live``, which returns the live settings that belong to a preset as well."""
        super().__init__(parent)
        self.setObjectName("form_page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._presets = load_presets()
        self.environment = EnvSection(lambda: str(self._fields["env_args"].read()))
        self._env = self.environment.picker
        self._preset = QComboBox()
        self._variant = QComboBox()
        self._variant.addItems(
            [AS_PUBLISHED, *(p.name for p in self._presets.values() if not p.env)]
        )
        self._menu = PresetMenu(lambda: self.settings(live()), self._preset.currentText)
        self._menu.presets_changed.connect(self._reload_presets)
        self._menu.refused.connect(self.refused)
        self._about = remark("")
        # A person's own preset may say anything.
        self._about.setTextFormat(Qt.TextFormat.PlainText)
        self._runs_dir: Path | None = None
        self.origin, self.disk = OriginLabel(), DiskLabel()
        self._fields = {
            name: make_field(name, known, default(name))
            for name, known in specs(RunConfig)
            if name not in ("env", "preset")
        }
        for name in ("seed", "steps"):
            self._fields[name].widget.setObjectName(f"{name}_spin")
        self._shown_env = ""
        self._build()
        self._offer_environments()
        guard_wheel(self)
        self._env.currentTextChanged.connect(self._on_env_text)
        editor = self._env.lineEdit()
        assert editor is not None
        editor.editingFinished.connect(lambda: self._on_env(self._env.currentText()))
        arguments = self._fields["env_args"].widget
        assert isinstance(arguments, QLineEdit)
        arguments.setPlaceholderText('{"xml_file": "/path/to/ant.xml"}')
        arguments.editingFinished.connect(self.environment.look)
        self._preset.currentTextChanged.connect(self._on_preset)
        self._variant.currentTextChanged.connect(self._on_preset)
        self._env.setCurrentText(FIRST_ENV)
        self._on_env(FIRST_ENV)
        for name, field in self._fields.items():
            field.changed.connect(self._compare_with_origin)
            if name in _ON_DISK:
                field.changed.connect(self._show_disk)
        self.environment.sizes_changed.connect(self._show_disk)
        self._show_disk()

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 14, 8)
        layout.setSpacing(6)
        self.welcome = remark(WELCOME)
        layout.addWidget(self.welcome)
        layout.addWidget(self.origin)
        form = make_form()
        rows = {"env": self.environment, "preset": self._with_menu(self._preset)}
        for name, widget, label, tip in (
            (
                "env",
                self._env,
                "Environment",
                "Type to search. Any installed Gymnasium"
                " environment with continuous actions can be named.",
            ),
            ("preset", self._preset, "Preset", "Settings that are known to work."),
            (
                "variant",
                self._variant,
                "Algorithm",
                "TD3, DDPG, or TD3 without one of its tricks, as in the paper's ablations.",
            ),
        ):
            widget.setObjectName(f"{name}_combo")
            widget.setAccessibleName(label)
            widget.setToolTip(tip)
            widget.setMinimumWidth(60)
            widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            form.addRow(label, rows.get(name, widget))
            if name == "env":
                form.addRow(self.environment.facts)
        form.addRow(self._about)
        for name in ("seed", "steps"):
            form.addRow(setting_label(spec(RunConfig, name)), self._fields[name].widget)
        layout.addLayout(form)
        layout.addWidget(self.disk)
        layout.addWidget(self._advanced())
        layout.addStretch(1)

    def _with_menu(self, combo: QWidget) -> QWidget:
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(combo, 1)
        layout.addWidget(self._menu)
        return row

    def _advanced(self) -> Collapsible:
        page = QWidget()
        form = make_form()
        page.setLayout(form)
        for name in self._fields:
            if name in _WIDE:
                form.addRow(setting_label(spec(RunConfig, name)))
                form.addRow(self._fields[name].widget)
            elif name not in _OWN_PLACE:
                form.addRow(setting_label(spec(RunConfig, name)), self._fields[name].widget)
        self._advanced_box = Collapsible("Advanced", page)
        self._advanced_box.setObjectName("advanced")
        return self._advanced_box

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self.environment.set_theme(theme)
        self._make_room()
        self._menu.setIcon(theme.icon("dots-horizontal", theme.muted))
        self._advanced_box.set_theme(theme)

    def _make_room(self) -> None:
        """Keep room for the usual names; a longer one may be cut."""
        metrics = self._preset.fontMetrics()
        names = [p.env for p in self._presets.values() if len(p.env) <= _USUAL_NAME]
        width = max(map(metrics.horizontalAdvance, names), default=0) + _COMBO_FRAME
        for combo in (self._env, self._preset):
            combo.setMinimumWidth(width)

    def set_runs_dir(self, path: Path) -> None:
        """Look here for the room that a run will need."""
        self._runs_dir = path
        self._show_disk()

    def close_helpers(self) -> None:
        """End the processes and the reading that may still be under way."""
        self.environment.close_helpers()
        self.disk.stop_tasks()

    @Slot()
    def _show_disk(self) -> None:
        """Say what the run will take on disk, as far as the form makes sense."""
        try:
            config, _ = self.settings(Tunables())
        except RequestError:
            self.disk.show_nothing()
            return
        self.disk.show_run(config, self.environment.sizes, self._runs_dir)

    def _offer_environments(self) -> None:
        self.environment.show_environments(preset.env for preset in self._presets.values())

    def point_out(self, problem: str) -> str:
        """Bring the field into view that a refusal names first; return it in the form's words."""
        name = problem.partition(" ")[0]
        field = self._fields.get(name)
        if field is None:
            return problem
        if name not in _OWN_PLACE:
            self._advanced_box.expand()
        field.widget.setFocus()
        self.pointed_out.emit(field.widget)
        return f"{spec(RunConfig, name).label}: {problem}"

    # Values -------------------------------------------------------------------------------------

    def settings(self, tunables: Tunables) -> tuple[RunConfig, Tunables]:
        """Return what the form describes, together with the live settings.

        Raises:
            RequestError: a value is missing or refused.
        """
        values: dict[str, Any] = {name: field.read() for name, field in self._fields.items()}
        values |= {name: getattr(tunables, name) for name, _ in specs(Tunables)}
        values |= {
            "env": self._env.currentText().strip(),
            "preset": PLUS.join(preset.name for preset in self._chosen()),
        }
        return make_settings(values)

    @Slot(str)
    def _on_env_text(self, text: str) -> None:
        """Wait for the end of typing: half a name has no presets, and must not clear the form."""
        editor = self._env.lineEdit()
        if editor is None or not editor.hasFocus() or self._env.findText(text) >= 0:
            self._on_env(text)

    @Slot(str)
    def _on_env(self, env_id: str, *, anew: bool = False) -> None:
        """Offer the presets of this environment, its own one chosen."""
        env_id = env_id.strip()
        if env_id == self._shown_env and not anew:
            return
        if env_id != self._shown_env:
            # Arguments are for one environment.
            self._write(self._fields["env_args"], "")
            self.origin.forget()
        self._shown_env = env_id
        own = [p for p in self._presets.values() if env_id and p.env == env_id]
        # The bundled one is called as its environment, and comes before the user's own.
        own.sort(key=lambda preset: preset.name != env_id)
        with QSignalBlocker(self._preset):
            self._preset.clear()
            self._preset.addItems([*(p.name for p in own), NO_PRESET])
        self._on_preset()

    @Slot(str)
    def _reload_presets(self, name: str) -> None:
        """Offer what is there now; ``name`` is new, or empty if one has gone."""
        self._presets = load_presets()
        self._offer_environments()
        if name and self._presets[name].env != self._env.currentText().strip():
            self._env.setCurrentText(self._presets[name].env)
        self._on_env(self._env.currentText(), anew=True)
        if name:
            self._preset.setCurrentText(name)

    @Slot()
    def _on_preset(self) -> None:
        """Show the values of what is chosen, and what it is about."""
        chosen = self._chosen()
        self._about.setText(breakable(" ".join(preset.about for preset in chosen)))
        self._about.setVisible(bool(chosen))
        values = self._chosen_values()
        for name, field in self._fields.items():
            if name != "seed" and (name != "env_args" or name in values):
                self._write(field, values.get(name, default(name)))
        self.live_defaults_changed.emit(self.chosen_tunables())
        self._show_disk()
        self._compare_with_origin()

    def _chosen(self) -> list[Preset]:
        """Return the preset and the variant chosen, in the order they are laid on."""
        names = (self._preset.currentText(), self._variant.currentText())
        return [self._presets[name] for name in names if name in self._presets]

    def _chosen_values(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for preset in self._chosen():
            values |= preset.values
        return values

    def chosen_tunables(self) -> Tunables:
        """Return the live settings that preset and variant start with."""
        values = self._chosen_values()
        return Tunables(**{name: values[name] for name, _ in specs(Tunables) if name in values})

    def show_run(self, config: RunConfig, name: str) -> None:
        """Show the settings of a run in place of those that were chosen, and whose they are."""
        self.welcome.hide()
        self.origin.forget()
        self._show_config(config)
        self.origin.show_run(name, self._as_shown())

    def _show_config(self, config: RunConfig) -> None:
        self._env.setCurrentText(config.env)
        self._on_env(config.env)
        presets = config.preset.split(PLUS)
        for combo, otherwise in ((self._preset, NO_PRESET), (self._variant, AS_PUBLISHED)):
            known = [name for name in presets if combo.findText(name) >= 0]
            combo.setCurrentText(known[0] if known else otherwise)
        for name, field in self._fields.items():
            self._write(field, getattr(config, name))
        self._show_disk()

    def _as_shown(self) -> dict[str, Any]:
        """Return all that the form says, whether it makes sense or not."""
        choices = (self._env, self._preset, self._variant)
        shown: dict[str, Any] = {
            str(number): each.currentText() for number, each in enumerate(choices)
        }
        for name, field in self._fields.items():
            try:
                shown[name] = field.read()
            except RequestError:
                shown[name] = None
        return shown

    @Slot()
    def _compare_with_origin(self) -> None:
        self.origin.compare(self._as_shown())

    @staticmethod
    def _write(field: Field, value: Any) -> None:
        with QSignalBlocker(field.widget):
            field.write(value)
