"""Optional abilities of a panel. The window finds out which of them a panel has."""

from typing import Protocol, runtime_checkable

from PySide6.QtCore import SignalInstance

from studio.theme.theme import Theme


@runtime_checkable
class Themed(Protocol):
    """Draws colours or icons that the style sheet does not reach."""

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""


@runtime_checkable
class RunAware(Protocol):
    """Behaves differently while a run is in progress."""

    def set_busy(self, busy: bool) -> None:
        """Adapt to a run in progress: ``busy`` from its start until its thread has ended."""


@runtime_checkable
class Closable(Protocol):
    """Holds threads, timers or processes."""

    def shutdown(self) -> None:
        """End them all. Called when the window closes."""


@runtime_checkable
class Refusing(Protocol):
    """Refuses requests with a sentence, a ``Text``, which the window shows above the plots."""

    refused: SignalInstance
