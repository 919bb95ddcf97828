"""The form of a run: environment, preset, seed, length, and all other fixed settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings, Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QSizePolicy, QVBoxLayout, QWidget

from studio.consent.code_consent import CodeConsent
from studio.setup.disk_label import DiskLabel
from studio.setup.env_section import EnvSection
from studio.setup.fixed_fields import FixedFields
from studio.setup.many_runs import NextRunButton, OwnProcessBox, SeedsField
from studio.setup.origin_label import OriginLabel
from studio.setup.preset_choice import PresetChoice
from studio.setup.recent_environments import RecentEnvironments
from studio.theme.theme import Theme
from studio.widgets.controls import MANUAL
from studio.widgets.form_area import point_to
from studio.widgets.forms import keep_lines, make_form, remark
from studio.widgets.setting_fields import guard_wheel
from studio.widgets.setting_names import in_labels
from td3core.config import (
    EnvChoice,
    RunConfig,
    Tunables,
    label_of,
    make_settings,
    specs,
    to_dict,
)
from td3core.config.presets import PLUS
from td3core.envs.catalogue import FIRST_ENV
from td3core.errors import RequestError
from td3core.text import Text, tr

WELCOME = Text(
    "Pick an environment and press <b>Train</b>. <b>BipedalWalker-v3</b> learns to walk"
    " within minutes. Or watch a bundled agent first, in <b>Replay</b>."
)
_ENV_TIP = Text(
    "Type to search. You can enter any installed Gymnasium environment with continuous actions."
)
_PRESET_TIP = Text("Settings known to work well.")
_VARIANT_TIP = Text(
    "Fills in settings, as a preset does: for TD3, TQC or DDPG, or for TD3 without some of its"
    " tricks, as in the ablations of the paper."
)


class SetupPanel(QWidget):
    """The form of everything that is fixed once a run has started."""

    live_defaults_changed = Signal(object)
    """Preset or variant changed; carries their initial :class:`Tunables`."""
    steps_changed = Signal(int)
    """The length of the next run changed."""
    algorithm_changed = Signal(str)
    """The algorithm of the next run, or of the shown run, may have changed."""
    refused = Signal(object)
    edited = Signal()
    """Another value was entered or chosen."""

    def __init__(
        self,
        runs_dir: Path,
        settings: QSettings,
        consent: CodeConsent,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("form_page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._runs_dir = runs_dir
        self._live: Callable[[], Tunables] = Tunables
        self._shown_env = ""
        self._shown_preset, self._preset_values = ("", ""), dict[str, Any]()
        self._busy = self._has_entries = False
        self._fields = FixedFields(self)
        self.environment = EnvSection(self._fields.env_args, RecentEnvironments(settings), consent)
        self._env = self.environment.picker
        self._fields.use_query(self.environment.ask_by_hand)
        self._presets = PresetChoice(lambda: self.entered(self._live), self)
        self.welcome = remark(str(WELCOME))
        self.origin, self.disk = OriginLabel(), DiskLabel()
        self._content = QWidget()
        self.seeds = SeedsField()
        self.own_process = OwnProcessBox(settings)
        self.next_run = NextRunButton(self._content)
        self._lay_out()
        self.environment.show_environments(self._presets.environments)
        guard_wheel(self)
        self._connect()
        self._env.enter(FIRST_ENV)
        self.forget_entries()

    def _lay_out(self) -> None:
        presets, form = self._presets, make_form()
        for name, combo, label, tip, row in (
            ("env", self._env, tr("Environment"), _ENV_TIP, self.environment),
            ("preset", presets.preset, tr("Preset"), _PRESET_TIP, presets.row),
            ("variant", presets.variant, tr("Algorithm"), _VARIANT_TIP, presets.variant),
        ):
            _describe(combo, f"{name}_combo", label, str(tip))
            form.addRow(label, row)
            if name == "env":
                form.addRow(self.environment.below)
        form.addRow(presets.about)
        self._fields.add_main_rows(form)
        # Below the seed, above the steps.
        form.insertRow(form.rowCount() - 1, label_of("seeds"), self.seeds)
        self._fields.add_advanced_row(self.own_process)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(10, 6, 14, 8)
        outer.setSpacing(6)
        outer.addWidget(self.next_run)
        outer.addWidget(self._content)
        layout = QVBoxLayout(self._content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.welcome)
        layout.addWidget(self.origin)
        layout.addLayout(form)
        layout.addWidget(self.disk)
        layout.addWidget(self._fields.advanced)
        layout.addStretch(1)
        self._fields.sort_tabs(self.seeds)
        self.environment.setProperty(MANUAL, "environments.md")
        self.environment.below.setProperty(MANUAL, "environments.md")
        self.seeds.setProperty(MANUAL, "many-runs.md#in-the-window")

    def _connect(self) -> None:
        self._env.entered.connect(self._show_env)
        self.seeds.textChanged.connect(
            lambda text: self._fields.set_enabled("seed", not text.strip())
        )
        self._presets.changed.connect(self._show_preset)
        self._presets.reloaded.connect(self._on_presets_reloaded)
        self._presets.refused.connect(self.refused)
        self._fields.env_args_entered.connect(self.environment.look_up)
        for changed in (self._fields.changed, self._presets.changed, self._env.currentTextChanged):
            changed.connect(self.edited)
        for entered in (self.edited, self.seeds.textChanged, self.next_run.clicked):
            entered.connect(self._note_entries)
        self._fields.changed.connect(self._compare_with_origin)
        self._fields.changed.connect(self._announce_steps)
        self._fields.changed.connect(self._announce_algorithm)
        self._fields.disk_changed.connect(self._show_disk)
        self.environment.sizes_changed.connect(self._show_disk)

    # Called by the window -----------------------------------------------------------------------

    def use_live_settings(self, read: Callable[[], Tunables]) -> None:
        """Save the live settings returned by ``read`` with the user's presets."""
        self._live = read

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.environment.set_theme(theme)
        self._presets.set_theme(theme)
        self._fields.advanced.set_theme(theme)
        # The style sheet may have changed the font.
        for combo in (self._env, self._presets.preset):
            combo.setMinimumWidth(self._presets.usual_width())
        for hint, lines in ((self.environment.facts, 2), (self._presets.about, 3), (self.disk, 2)):
            keep_lines(hint, lines)

    def set_busy(self, busy: bool) -> None:
        """Lock the form when a run begins, until it ends or the user prepares the next one.

        It stays unlocked if it already has entries for the next run.
        """
        if busy is self._busy:
            return
        self._busy = busy
        locked = busy and not self._has_entries
        focused = self.window().focusWidget()
        if locked:
            self.next_run.show()
            # Qt takes the focus from a locked widget without passing it on.
            if focused is not None and self._content.isAncestorOf(focused):
                self.next_run.setFocus()
        self._content.setEnabled(not locked)
        if not locked:
            if focused is self.next_run:
                self.focus_steps()
            self.next_run.hide()

    @property
    def has_entries(self) -> bool:
        """Whether the form has entries for a run that is neither started nor queued."""
        return self._has_entries

    @Slot()
    def forget_entries(self) -> None:
        """Let the next run that begins show its settings in place of those entered."""
        self._has_entries = False

    @Slot()
    def _note_entries(self) -> None:
        self._has_entries = True

    def shutdown(self) -> None:
        """End the processes that examine environments, and stop checking the disk."""
        self.environment.shutdown()
        self._fields.shutdown()
        self.disk.shutdown()

    def point_out(self, problem: RequestError) -> str:
        """Focus the first field named by a refusal; return the refusal with the form's labels."""
        name = problem.message.setting
        if name == "seeds":
            point_to(self.seeds)
        elif name is not None:
            self._fields.point_out(name)
        return in_labels(problem.message)

    def focus_steps(self) -> None:
        """Focus the number of steps."""
        self._fields.focus("steps")

    def make_all_fields(self) -> None:
        """Make the fields under Advanced now, instead of when first shown."""
        self._fields.make_all()

    # Values -------------------------------------------------------------------------------------

    def use_warm_up(self, steps: int) -> None:
        """Set the number of steps before learning starts."""
        self._fields.write({"learning_starts": steps})

    def entered(self, live: Callable[[], Tunables]) -> tuple[RunConfig, Tunables]:
        """Return the settings in the form, with what is still being typed.

        The preset of an environment that is being typed changes the live settings, so they are
        read with ``live`` after it has been applied.

        Raises:
            RequestError: a value is missing or refused.
        """
        self._env.commit()
        return self.settings(live())

    def settings(self, tunables: Tunables) -> tuple[RunConfig, Tunables]:
        """Return the settings in the form, combined with the live settings.

        Raises:
            RequestError: a value is missing or refused.
        """
        values = self._fields.values()
        values |= to_dict(tunables)
        values |= {"env": self._env.currentText().strip(), "preset": self._presets.name}
        return make_settings(values)

    def chosen_tunables(self) -> Tunables:
        """Return the initial live settings of preset and variant."""
        return self._presets.tunables()

    def show_run(self, config: RunConfig, name: str) -> None:
        """Show the settings of a run in place of the current ones, and the run's name."""
        self.welcome.hide()
        self.show_settings(config)
        self.origin.show_run(name, self._shown_values())

    def show_settings(self, config: RunConfig) -> None:
        """Show these settings in place of the current ones."""
        self.origin.forget()
        self.environment.note_file(config.choice)
        self._env.enter(config.env)
        self._presets.choose(config.preset.split(PLUS))
        self._fields.write_config(config)
        self.environment.show_facts()
        self._announce_algorithm()
        # The settings are those of a single run, not of a group.
        self.seeds.clear()
        self._show_disk()
        self.forget_entries()

    def show_usual(self, env_id: str) -> None:
        """Show an environment with its own preset, in place of all entries."""
        self._env.enter(env_id)
        self.origin.forget()
        self._fields.write({"env_args": "", "info_columns": ""})
        # Otherwise edited settings on which the old and new preset agree would stay.
        self._shown_preset = ("", "")
        self._presets.choose_usual(env_id)
        self.seeds.clear()

    @Slot(str)
    def _show_env(self, env_id: str) -> None:
        """Offer the presets of an environment, unless it is already shown."""
        env_id = env_id.strip()
        if env_id == self._shown_env:
            return
        # Arguments belong to one environment.
        self._fields.write({"env_args": "", "info_columns": ""})
        self.origin.forget()
        self._shown_env = env_id
        self._presets.offer(env_id)

    @Slot()
    def _show_preset(self) -> None:
        """Show the values of preset and variant."""
        values = self._presets.values()
        # A preset may come from anyone, and its arguments may name code.
        self.environment.note_file(EnvChoice("", values.get("env_args", "")))
        chosen = (self._shown_env, self._presets.preset.currentText())
        before = self._preset_values
        keep = set[str]()
        if chosen == self._shown_preset:
            # Only the algorithm has changed: keep everything else equal, for comparison.
            keep = {name for name, _ in specs(RunConfig) if before.get(name) == values.get(name)}
            # A variant brings its own, whatever Advanced says.
            if self._presets.has_variant:
                keep.discard("algorithm")
        # The user's own arguments stay, those of the preset shown before go with it.
        arguments = before.get("env_args")
        gone = {"env_args": ""} if arguments and arguments == self._fields.env_args() else {}
        self._fields.write_preset(gone | values, keep)
        self._shown_preset, self._preset_values = chosen, values
        self.environment.show_facts()
        self._announce_steps()
        self._announce_algorithm()
        self.live_defaults_changed.emit(self.chosen_tunables())
        self._show_disk()
        self._compare_with_origin()

    @Slot(str)
    def _on_presets_reloaded(self, name: str) -> None:
        """Offer the current presets, and choose the new one if there is one."""
        self.environment.show_environments(self._presets.environments)
        if name:
            self._env.enter(self._presets.environment_of(name))
        self._presets.offer(self._shown_env)
        if name:
            self._presets.preset.setCurrentText(name)

    @Slot()
    def _announce_steps(self) -> None:
        steps = self._fields.readable_values()["steps"]
        if steps is not None:
            self.steps_changed.emit(int(steps))

    @Slot()
    def _announce_algorithm(self) -> None:
        """Show which settings the algorithm uses."""
        algorithm = self._fields.readable_values()["algorithm"]
        self._presets.show_algorithm(algorithm)
        self._preset_values = self._presets.values()
        self._fields.show_algorithm(algorithm)
        self.algorithm_changed.emit(algorithm)

    @Slot()
    def _show_disk(self) -> None:
        """Show how much disk space the run will take, if the settings are valid."""
        try:
            config, _ = self.settings(Tunables())
        except RequestError:
            self.disk.clear_estimate()
            return
        self.disk.show_estimate(config, self.environment.sizes, self._runs_dir)

    def _shown_values(self) -> dict[str, Any]:
        """Return everything in the form, valid or not."""
        combos = (self._env, self._presets.preset, self._presets.variant)
        chosen = {combo.objectName(): combo.currentText() for combo in combos}
        return chosen | self._fields.readable_values()

    @Slot()
    def _compare_with_origin(self) -> None:
        self.origin.compare(self._shown_values())


def _describe(combo: QComboBox, name: str, label: str, tip: str) -> None:
    combo.setObjectName(name)
    combo.setAccessibleName(label)
    combo.setToolTip(tip)
    # The panel determines the width, not the longest entry.
    combo.setMinimumWidth(60)
    combo.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
