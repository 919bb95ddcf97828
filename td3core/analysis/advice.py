"""Health of a run: rules, their advice, and which of them are broken at present.

A rule is a TOML file in ``resources/advice``: a quantity that training or evaluations record, the
bound of its healthy range, the reason for the bound, what to do, and a change of a setting to try.
Window and command line feed the same events to :class:`Health`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from td3core.arrays import Doubles
from td3core.config import RunConfig, Tunables, check_together, specs, with_values
from td3core.config.algorithms import ALGORITHMS
from td3core.errors import RequestError
from td3core.protocol.events import Evaluated, Event, Progress, Started
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.protocol.rows import EVALUATION_METRICS, evaluation_numbers
from td3core.system.bundled_files import (
    UnknownKeyError,
    known_keys,
    read_bundled,
    reading,
    texts_of,
)
from td3core.text import Text

_TEXTS = ("title", "reason")
_REMEDY = {"advice", "change"}
_KEYS = {
    *(*_TEXTS, *_REMEDY, "order", "quantity"),
    *("above", "below", "sustained", "after", "unless", "at_least"),
}
_COLUMNS = {name: place for place, name in enumerate(TRAINING_COLUMNS)}
_EVALUATED = tuple(metric.name for metric in EVALUATION_METRICS)
_UPDATES = _COLUMNS["updates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A suggested change: a setting takes another value."""

    setting: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What to do beyond a bound."""

    advice: Text
    """One line of advice."""
    setting: str
    factor: float | None
    """Factor to multiply the setting by."""
    step: float | None
    """Otherwise, number to add to it."""
    value: Any
    """Otherwise, its new value."""

    def change(self, config: RunConfig, tunables: Tunables) -> SettingChange | None:
        """Return the change suggested to a run with these settings.

        None if it makes no difference, or is not allowed with the other settings.
        """
        live = self.setting in dict(specs(Tunables))
        known = dict(specs(Tunables if live else RunConfig))[self.setting]
        old = getattr(tunables if live else config, self.setting)
        new = self.value
        if self.factor is not None or self.step is not None:
            wanted = old + self.step if self.factor is None else old * self.factor
            # A step of one is lost in two digits of a number beyond 100.
            digits = 12 if self.factor is None else 2
            new = float(f"{min(max(wanted, known.low), known.high):.{digits}g}")
            new = round(new) if isinstance(old, int) else new
        if new == old or (live and not _allowed(config, tunables, {self.setting: new})):
            return None
        return SettingChange(setting=self.setting, old=old, new=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A bound of a quantity, and what to do beyond it."""

    name: str
    """Its file name without the suffix."""
    order: int
    title: Text
    """The problem, in a few words."""
    quantity: str
    """A column of ``training.csv`` or ``evaluations.csv``."""
    is_upper: bool
    """Whether the bound is the highest healthy value, or the lowest."""
    threshold: float
    sustained: int
    """Number of consecutive values beyond the bound after which the rule is broken, and within it
    after which it holds again."""
    after: int
    """Updates before which the quantity is not judged: untrained networks are far off."""
    unless: tuple[str, ...]
    """Names of rules with the same cause: while one of them is broken, this one is not reported."""
    at_least: Mapping[str, float]
    """Live settings, and the values below which the rule is not reported: there its quantity says
    nothing."""
    reason: Text
    """Reason for the bound, in a sentence."""
    remedy: Remedy
    """What to do."""
    of_algorithm: Mapping[str, Remedy]
    """Remedies for algorithms that need their own."""

    def remedy_for(self, config: RunConfig) -> Remedy:
        """Return the remedy in a run with these settings."""
        return self.of_algorithm.get(config.algorithm, self.remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A rule that a run breaks at present."""

    rule: Rule
    value: float
    """The newest value of its quantity."""
    env_steps: int
    """The step since which it has been broken."""
    text: Text
    """What to do, in one line."""
    change: SettingChange | None
    """None if the setting has that value already."""

    def in_words(self) -> Text:
        """Return the advice as a line for a terminal."""
        rule, change = self.rule, self.change
        bound = Text("at least {value:g}", value=rule.threshold)
        if rule.is_upper:
            bound = Text("at most {value:g}", value=rule.threshold)
        told = Text(
            "Health: {title} ({quantity} {value:.3g} since step {step:,}; healthy is {bound})."
            " {advice}",
            title=rule.title,
            quantity=rule.quantity,
            value=self.value,
            step=self.env_steps,
            bound=bound,
            advice=self.text,
        )
        if change is None:
            return told
        setting = f"{change.setting}={change.new}"
        return Text.joined((told, Text("Try --set {setting}.", setting=setting)))

    def as_dict(self) -> dict[str, Any]:
        """Return the advice as printed with ``--json``."""
        rule, change = self.rule, self.change
        return {
            "rule": rule.name,
            "quantity": rule.quantity,
            "value": self.value,
            "threshold": rule.threshold,
            "since": self.env_steps,
            "title": rule.title,
            "advice": self.text,
            "setting": change.setting if change else None,
            "old": change.old if change else None,
            "new": change.new if change else None,
        }


@cache
def load_rules() -> tuple[Rule, ...]:
    """Return the bundled rules in their order."""
    found = read_bundled("advice", parse_rule)
    return tuple(sorted(found, key=lambda rule: (rule.order, rule.name)))


def with_thresholds(rules: Iterable[Rule], thresholds: Mapping[str, float]) -> tuple[Rule, ...]:
    """Return rules with new thresholds by name; the others keep theirs."""
    return tuple(
        replace(rule, threshold=float(thresholds.get(rule.name, rule.threshold))) for rule in rules
    )


def parse_rule(name: str, text: str) -> Rule:
    """Read a rule from TOML text.

    Raises:
        RequestError: it is not TOML, a key is missing or unknown, or a value is invalid.
    """
    with reading(partial(_refusal, name)):
        found = known_keys(text, _KEYS | ALGORITHMS.keys())
        bounds = [key for key in ("above", "below") if key in found]
        if len(bounds) != 1:
            raise _refusal(name, Text("it needs either above or below"))
        quantity = str(found["quantity"])
        if quantity not in _COLUMNS and quantity not in _EVALUATED:
            raise _refusal(name, Text("{key} is not recorded", key=quantity))
        return Rule(
            name=name,
            order=int(found.get("order", 0)),
            quantity=quantity,
            is_upper=bounds == ["above"],
            threshold=float(found[bounds[0]]),
            sustained=max(int(found.get("sustained", 1)), 1),
            after=int(found.get("after", 0)),
            unless=_names(found.get("unless", [])),
            at_least=_minima(name, found.get("at_least", {})),
            remedy=_remedy(name, {key: found[key] for key in _REMEDY}),
            of_algorithm={
                each: _remedy(name, dict(found[each])) for each in ALGORITHMS if each in found
            },
            **texts_of(found, _TEXTS),
        )


def _remedy(name: str, found: Mapping[str, Any]) -> Remedy:
    for key in sorted(found.keys() - _REMEDY):
        raise UnknownKeyError(key)
    change = dict(found["change"])
    if change["setting"] not in dict(specs(Tunables)) | dict(specs(RunConfig)):
        raise _refusal(name, Text("{key} is no setting", key=change["setting"]))
    if len(change) != 2 or not change.keys() <= {"setting", "factor", "step", "value"}:
        raise _refusal(name, Text("its change needs a setting, and a factor, a step or a value"))
    return Remedy(
        setting=str(change["setting"]),
        factor=float(change["factor"]) if "factor" in change else None,
        step=float(change["step"]) if "step" in change else None,
        value=change.get("value"),
        **texts_of(found, ("advice",)),
    )


def _allowed(config: RunConfig, tunables: Tunables, values: Mapping[str, Any]) -> bool:
    try:
        check_together(config, with_values(tunables, values))
    except RequestError:
        return False
    return True


def _names(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(str(name) for name in value)


def _minima(name: str, found: Mapping[str, Any]) -> dict[str, float]:
    for key in found:
        if key not in dict(specs(Tunables)):
            raise _refusal(name, Text("{key} is no live setting", key=key))
    return {key: float(value) for key, value in found.items()}


def _refusal(name: str, reason: Text) -> RequestError:
    return RequestError("{name} is not a rule: {reason}.", name=name, reason=reason)


class _Watch:
    """How long the quantity of a rule has been within or beyond its bound."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.value = math.nan
        self.since: int | None = None
        """The step since which the rule has been broken; None while it holds."""
        self._row, self._beyond, self._began = 0, False, 0

    def take(self, steps: Doubles, values: Doubles) -> None:
        """Take measured values (n,) and the steps (n,) they were measured at."""
        rule = self.rule
        healthy = values <= rule.threshold if rule.is_upper else values >= rule.threshold
        for step, is_healthy in zip(steps.tolist(), healthy.tolist(), strict=True):
            beyond = not is_healthy
            if beyond != self._beyond or not self._row:
                self._beyond, self._row, self._began = beyond, 0, int(step)
            self._row += 1
            if self._row >= rule.sustained:
                if not beyond:
                    self.since = None
                elif self.since is None:
                    self.since = self._began
        if len(values):
            self.value = float(values[-1])


class Health:
    """Problems of a run, folded from its events or read from its files."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._config: RunConfig | None = None
        self._tunables: Tunables | None = None
        self._training: list[Doubles] = []
        """Steps and updates of the training rows, each (n, 2)."""
        self._watches = [_Watch(rule) for rule in rules]

    def judged_by(self, rules: Sequence[Rule], training: Doubles, evaluations: Doubles) -> "Health":
        """Return the health of the same run by other rules.

        Args:
            rules: the rules.
            training: training rows so far, shape (n, len(TRAINING_COLUMNS)).
            evaluations: steps and :data:`EVALUATION_METRICS` of each, shape (m, 1 + metrics).
        """
        other = Health(rules)
        other._config, other._tunables = self._config, self._tunables
        if len(training):
            other._take_rows(training)
        for row in evaluations:
            values = dict(zip(_EVALUATED, row[1:].tolist(), strict=True))
            other._take_evaluation(float(row[0]), values)
        return other

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The current advice, in the order of the rules."""
        config, tunables = self._config, self._tunables
        if config is None or tunables is None:
            return ()
        remedies = ((watch, watch.rule.remedy_for(config)) for watch in self._open)
        return tuple(
            Advice(
                rule=watch.rule,
                value=watch.value,
                env_steps=watch.since,
                text=remedy.advice,
                change=remedy.change(config, tunables),
            )
            for watch, remedy in remedies
            if watch.since is not None
        )

    @property
    def broken(self) -> tuple[Rule, ...]:
        """The rules of :attr:`advice`, without their changes."""
        return tuple(watch.rule for watch in self._open) if self._config is not None else ()

    @property
    def _open(self) -> list["_Watch"]:
        broken = {watch.rule.name for watch in self._watches if watch.since is not None}
        return [
            watch
            for watch in self._watches
            if watch.since is not None
            and broken.isdisjoint(watch.rule.unless)
            and self._applies(watch.rule)
        ]

    def _applies(self, rule: Rule) -> bool:
        return all(
            getattr(self._tunables, name) >= minimum for name, minimum in rule.at_least.items()
        )

    def take(self, event: Event) -> None:
        """Process one event of the run."""
        match event:
            case Started():
                # Measurements after this step are void: a resumed run repeats the steps.
                self._watches = [_Watch(rule) for rule in self._rules]
                self._training.clear()
                self._config, self._tunables = event.config, event.tunables
            case Progress():
                self._tunables = event.tunables
                if len(event.training):
                    self._take_rows(event.training)
            case Evaluated():
                values = dict(zip(_EVALUATED, evaluation_numbers(event), strict=True))
                self._take_evaluation(event.env_steps, values)

    def _take_evaluation(self, env_steps: float, values: Mapping[str, float]) -> None:
        updates = self._updates_at(env_steps)
        for watch in self._watches:
            value = values.get(watch.rule.quantity, math.nan)
            if math.isfinite(value) and updates >= watch.rule.after:
                watch.take(np.array([float(env_steps)]), np.array([value]))

    def _updates_at(self, env_steps: float) -> float:
        for rows in reversed(self._training):
            before = int(np.searchsorted(rows[:, 0], env_steps, "right"))
            if before:
                return float(rows[before - 1, 1])
        return 0.0

    def _take_rows(self, rows: Doubles) -> None:
        self._training.append(rows[:, [0, _UPDATES]])
        # Most rows hold none of the quantities measured every 1,000 steps.
        known = np.isfinite(rows)
        for watch in self._watches:
            column = _COLUMNS.get(watch.rule.quantity)
            if column is None or not known[:, column].any():
                continue
            judged = known[:, column] & (rows[:, _UPDATES] >= watch.rule.after)
            watch.take(rows[judged, 0], rows[judged, column])
