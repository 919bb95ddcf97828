"""Choosing a preset for the environment, and a variant of its algorithm."""

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from studio.setup.preset_menu import PresetMenu, Settings
from studio.theme.theme import Theme
from studio.widgets.forms import remark
from studio.widgets.labels import breakable
from studio.widgets.setting_names import in_labels
from td3core.config import Tunables, make_settings
from td3core.config.algorithms import TD3, entry_of
from td3core.config.presets import PLUS, Preset, load_presets, refused_presets
from td3core.text import Text, tr, translated

NO_PRESET = Text("TD3 defaults")
AS_PUBLISHED = "TD3"
_USUAL_NAME = 20
"""In characters. Longer names may be cut off."""
_COMBO_FRAME = 36
"""Pixels of a combo box around its text: arrow, border and padding."""


class PresetChoice(QObject):
    """Two combo boxes, a menu and a description, to be placed in a form."""

    changed = Signal()
    """Another preset or variant was chosen."""
    reloaded = Signal(str)
    """The user's presets changed; names the new one, or is empty if one was deleted."""
    refused = Signal(object)

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        """Take ``settings``, which returns the values for a new preset."""
        super().__init__(parent)
        self._read()
        self.preset, self.variant = QComboBox(), QComboBox()
        variants = (preset.name for preset in self._presets.values() if not preset.env)
        self.variant.addItems([AS_PUBLISHED, *variants])
        self.about = remark()
        self.about.setObjectName("preset_about")
        # The description may come from a user's preset.
        self.about.setTextFormat(Qt.TextFormat.PlainText)
        self._menu = PresetMenu(settings, self.preset.currentText)
        self._menu.presets_changed.connect(self._reload)
        self._menu.refused.connect(self.refused)
        self.row = QWidget()
        layout = QHBoxLayout(self.row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.preset, 1)
        layout.addWidget(self._menu)
        self.preset.currentTextChanged.connect(self._on_chosen)
        # Not its text, which also says what is set elsewhere.
        self.variant.currentIndexChanged.connect(self._on_chosen)

    def _read(self) -> None:
        self._presets = load_presets()
        self._left_out = [in_labels(problem.message) for problem in refused_presets()]

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._menu.setIcon(theme.icon("dots-horizontal", theme.muted))

    def usual_width(self) -> int:
        """Return the width of a combo box that shows the usual environment names in full."""
        metrics = self.preset.fontMetrics()
        names = [p.env for p in self._presets.values() if len(p.env) <= _USUAL_NAME]
        return max(map(metrics.horizontalAdvance, names), default=0) + _COMBO_FRAME

    @property
    def environments(self) -> list[str]:
        """The environments with presets."""
        found = (preset.env for preset in self._presets.values() if preset.env)
        return list(dict.fromkeys(found))

    def environment_of(self, name: str) -> str:
        """Return the environment of a preset."""
        return self._presets[name].env

    def offer(self, env_id: str) -> None:
        """Offer the presets of an environment and choose the bundled one."""
        own = [preset for preset in self._presets.values() if env_id and preset.env == env_id]
        # The bundled preset has the name of its environment; it precedes the user's own.
        own.sort(key=lambda preset: preset.name != env_id)
        with QSignalBlocker(self.preset):
            self.preset.clear()
            self.preset.addItems([*(preset.name for preset in own), str(NO_PRESET)])
        self._on_chosen()

    def choose_usual(self, env_id: str) -> None:
        """Choose the bundled preset of an environment, and the algorithm that it names."""
        with QSignalBlocker(self.variant):
            self.variant.setCurrentIndex(0)
        self.offer(env_id)

    def choose(self, names: Iterable[str]) -> None:
        """Choose preset and variant among these names, else the defaults."""
        names = list(names)
        # The last preset means none, and so does the first variant.
        for combo, otherwise in ((self.preset, self.preset.count() - 1), (self.variant, 0)):
            known = [place for name in names if (place := combo.findText(name)) >= 0]
            combo.setCurrentIndex(known[0] if known else otherwise)

    def show_algorithm(self, algorithm: str) -> None:
        """Show the algorithm of the form, which may be another than that of preset and variant."""
        if algorithm != self._algorithm:
            # No longer that of the variant, if there was one.
            with QSignalBlocker(self.variant):
                self.variant.setCurrentIndex(0)
        self._describe()
        if algorithm != self._algorithm:
            set_there = tr("{algorithm}, set in Advanced", algorithm=entry_of(algorithm).title)
            self.variant.setItemText(0, set_there)

    @property
    def name(self) -> str:
        """Preset and variant as recorded in a run."""
        return PLUS.join(preset.name for preset in self._chosen())

    @property
    def has_variant(self) -> bool:
        """Whether a variant of the preset's algorithm is chosen."""
        return self.variant.currentIndex() > 0

    def values(self) -> dict[str, Any]:
        """Return the settings that preset and variant specify together."""
        values: dict[str, Any] = {}
        for preset in self._chosen():
            values |= preset.values
        return values

    def tunables(self) -> Tunables:
        """Return the live settings that a run starts with."""
        values = self.values()
        return make_settings({**values, "env": "any"})[1]

    def _chosen(self) -> list[Preset]:
        """Return the preset and the variant chosen, in the order they are applied."""
        names = (self.preset.currentText(), self.variant.currentText())
        return [self._presets[name] for name in names if name in self._presets]

    @property
    def _algorithm(self) -> str:
        """The algorithm that preset and variant specify together."""
        algorithm: str = self.values().get("algorithm", TD3)
        return algorithm

    @Slot()
    def _on_chosen(self) -> None:
        self._describe()
        self.changed.emit()

    def _describe(self) -> None:
        """Name the algorithm of the preset, and show the description of preset and variant."""
        self._name_algorithm()
        about = " ".join(translated(preset.about) for preset in self._chosen())
        self.about.setText(breakable("\n".join(filter(None, (about, *self._left_out)))))

    def _name_algorithm(self) -> None:
        """Label the first entry, which means no variant, with the preset's algorithm."""
        preset = self._presets.get(self.preset.currentText())
        algorithm = preset.values.get("algorithm", TD3) if preset is not None else TD3
        usual = AS_PUBLISHED
        if algorithm != TD3:
            usual = tr("{algorithm} of the preset", algorithm=entry_of(algorithm).title)
        self.variant.setItemText(0, usual)

    @Slot(str)
    def _reload(self, name: str) -> None:
        self._read()
        self.reloaded.emit(name)
