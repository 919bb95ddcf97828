"""Live settings of every kind: a switch and a choice besides the numbers of today."""

from dataclasses import dataclass
from types import ModuleType

import pytest

from td3core.config import Tunables, settings
from td3core.config.spec import setting
from td3core.runs import journal
from td3core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceTunables(Tunables):
    """Scripted settings; the agent does not use the last two."""

    mirrored: bool = setting(
        False, label=Text("Mirrored"), symbol="m", help=Text("Mirrors every action.")
    )
    noise_kind: str = setting(
        "gaussian",
        label=Text("Noise kind"),
        choices=("gaussian", "uniform", "pink"),
        help=Text("Distribution of the exploration noise."),
    )


def declare_choices(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Let settings, journal and further modules find ``ChoiceTunables`` declared."""
    for module in (settings, journal, *modules):
        monkeypatch.setattr(module, "Tunables", ChoiceTunables)
