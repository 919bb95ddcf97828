"""The advice for the current run, without dismissed advice."""

import contextlib
import math
from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from studio.session.model import RunModel
from studio.widgets.stored_names import stored_names
from td3core.analysis.advice import Advice, Rule, load_rules, with_thresholds

_DISMISSED, _THRESHOLD = "health/dismissed", "health/threshold/"
_MOST = 500
"""Number of dismissals kept, the latest ones."""


class AdviceBoard(QObject):
    """Follows the run model; costs next to nothing while nothing changes."""

    changed = Signal()
    """The broken rules, or the dismissals, have changed."""

    def __init__(self, model: RunModel, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._settings = model, settings
        self._shown: tuple[str, ...] = ()
        self._dismissed = stored_names(settings, _DISMISSED)
        if self.thresholds():
            self._use_rules()
        model.curves_changed.connect(self._look)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Open advice, in the order of the rules."""
        record = self._model.record
        found = record.health.advice if record.health is not None else ()
        return tuple(each for each in found if self._key(each.rule) not in self._dismissed)

    @property
    def broken(self) -> tuple[Rule, ...]:
        """The rules of :attr:`advice`, without computing the suggested changes."""
        health = self._model.record.health
        found = health.broken if health is not None else ()
        return tuple(rule for rule in found if self._key(rule) not in self._dismissed)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, with the user's thresholds."""
        return with_thresholds(load_rules(), self.thresholds())

    def dismiss(self, rule: Rule) -> None:
        """Dismiss this advice for the current run."""
        self._dismissed = [*self._dismissed, self._key(rule)][-_MOST:]
        self._settings.setValue(_DISMISSED, self._dismissed)
        self._look()

    def thresholds(self) -> Mapping[str, float]:
        """Return the thresholds that the user has changed, by rule; damaged ones are left out."""
        found = {}
        for rule in load_rules():
            with contextlib.suppress(ValueError):
                value = float(str(self._settings.value(_THRESHOLD + rule.name)))
                if math.isfinite(value):
                    found[rule.name] = value
        return found

    def set_threshold(self, rule: Rule, value: float) -> None:
        """Use another threshold from now on."""
        key = _THRESHOLD + rule.name
        own = next(each.threshold for each in load_rules() if each.name == rule.name)
        if value == own:
            self._settings.remove(key)
        else:
            self._settings.setValue(key, value)
        self._use_rules()

    def _use_rules(self) -> None:
        self._model.use_rules(self.rules)
        self._look()

    def _key(self, rule: Rule) -> str:
        run = self._model.record.run or Path()
        return f"{run.name}/{rule.name}"

    @Slot()
    def _look(self) -> None:
        names = tuple(map(self._key, self.broken))
        if names != self._shown:
            self._shown = names
            self.changed.emit()
