"""The findings of an environment check."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from td3core.envs.check.probe import Rollout
from td3core.envs.info import EnvInfo
from td3core.text import Text


class Level(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    """Makes learning, evaluating or repeating a run doubtful."""
    ERROR = "error"
    """Makes a run fail."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    level: Level
    check: Text
    """What was checked, in a word or two."""
    message: Text


def passed(check: Text, template: str, /, **values: Any) -> Finding:
    """Return a finding of level OK."""
    return Finding(Level.OK, check, Text(template, **values))


def warning(check: Text, template: str, /, **values: Any) -> Finding:
    """Return a finding of level WARNING."""
    return Finding(Level.WARNING, check, Text(template, **values))


def error(check: Text, template: str, /, **values: Any) -> Finding:
    """Return a finding of level ERROR."""
    return Finding(Level.ERROR, check, Text(template, **values))


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings about one environment."""

    env: EnvInfo
    findings: tuple[Finding, ...]
    info: tuple[str, ...] = ()
    """Names of the finite numbers in its ``info``, which the setting info_columns can record."""
    steps: Rollout | None = None
    """Its random steps; None if it does not repeat them."""

    @property
    def warnings(self) -> list[Text]:
        """What is unusual, though no error."""
        return [
            Text("{env_id}: {problem}", env_id=self.env.env_id, problem=finding.message)
            for finding in self.findings
            if finding.level is Level.WARNING
        ]

    def count(self, level: Level) -> int:
        """Return how many findings are of this level."""
        return sum(finding.level is level for finding in self.findings)
