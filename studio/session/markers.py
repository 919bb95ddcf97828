"""Live changes as drawn on the plots."""

from dataclasses import dataclass
from typing import Any

from studio.formatting import format_setting
from td3core.config import Spec, Tunables, spec
from td3core.config.piecewise import is_text
from td3core.text import tr


def change_in_words(known: Spec, old: Any, new: Any) -> str:
    """Describe a change: ``τ 0.005 → 0.01``, or ``τ schedule → 0.01`` where a schedule ended.

    A setting without a one-letter symbol has its label: ``Critic learning rate 0.001 → 0.0003``.
    """
    before, after = (
        tr("schedule") if is_text(each) else format_setting(known, each) for each in (old, new)
    )
    return f"{known.sign} {before} → {after}"


@dataclass(slots=True, kw_only=True)
class Marker:
    """A live change, drawn as a line on every plot."""

    env_steps: int
    name: str
    old: Any
    new: Any
    changed_at: float
    """In seconds since 1970; NaN if unknown."""
    scheduled: bool = False
    """True if a schedule made it, with the changes of another run or the resumed run's own."""

    @property
    def text(self) -> str:
        """The change in words, for instance ``τ 0.005 → 0.01``."""
        change = change_in_words(spec(Tunables, self.name), self.old, self.new)
        return tr("{change} (scheduled)", change=change) if self.scheduled else change
