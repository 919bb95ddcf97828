"""Guided experiments: a question, and groups of seeds that answer it.

A lesson is a TOML file in ``resources/lessons``; its arms differ from the environment's preset in a
few settings, and all are trained with the same seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from td3core.config import RunConfig, Tunables
from td3core.config.presets import compose
from td3core.config.settings import check_together
from td3core.errors import RequestError
from td3core.experiments.groups.seeds import parse_seeds
from td3core.system.bundled_files import known_keys, read_bundled, reading, texts_of
from td3core.text import Text

_TEXTS = ("title", "question", "text", "look", "seen")
_KEYS = {*_TEXTS, "environment", "order", "steps", "seeds", "settings", "arms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One of the variants that a lesson trains and compares."""

    name: str
    """Stored with its runs, in English."""
    title: Text
    """The same, ready for translation."""
    config: RunConfig
    tunables: Tunables


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One guided experiment. Its texts are Markdown."""

    name: str
    """Its file name without the suffix."""
    order: int
    title: Text
    question: Text
    text: Text
    """What is tried, and why it should matter."""
    look: Text
    """What to look at while the runs train."""
    seen: Text
    """Results of the project's own runs, with their number of seeds."""
    seeds: tuple[int, ...]
    arms: tuple[Arm, ...]

    @property
    def steps(self) -> int:
        """Total steps of all runs."""
        return sum(arm.config.steps for arm in self.arms) * len(self.seeds)


def load_lessons() -> tuple[Lesson, ...]:
    """Return the bundled lessons in teaching order."""
    found = read_bundled("lessons", parse_lesson)
    return tuple(sorted(found, key=lambda lesson: lesson.order))


def parse_lesson(name: str, text: str) -> Lesson:
    """Read a lesson from TOML text.

    Raises:
        RequestError: it is not TOML, a key is missing or unknown, or a setting is refused.
    """
    with reading(partial(_refusal, name)):
        found = known_keys(text, _KEYS)
        texts = texts_of(found, _TEXTS)
        environment, shared = str(found["environment"]), dict(found.get("settings", {}))
        shared["steps"] = found["steps"]
        arms = tuple(_arm(environment, shared, arm) for arm in found["arms"])
        seeds, order = parse_seeds(found["seeds"]), int(found.get("order", 0))
    if len(arms) < 2:
        raise _refusal(name, Text("it has nothing to compare"))
    return Lesson(name=name, order=order, seeds=seeds, arms=arms, **texts)


def _arm(environment: str, shared: Mapping[str, Any], found: Mapping[str, Any]) -> Arm:
    values = {**shared, **found.get("settings", {})}
    config, tunables = compose(environment, (), values)
    check_together(config, tunables)
    title = texts_of(found, ("name",))["name"]
    return Arm(name=title.english, title=title, config=config, tunables=tunables)


def _refusal(name: str, reason: Text) -> RequestError:
    return RequestError("{name} is not a lesson: {reason}.", name=name, reason=reason)
