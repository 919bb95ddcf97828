"""Optional abilities of a panel, detected by the window."""

from typing import Protocol, runtime_checkable

from PySide6.QtCore import SignalInstance

from studio.theme.theme import Theme


@runtime_checkable
class Themed(Protocol):
    """A panel that draws colours or icons beyond the style sheet's reach."""

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""


@runtime_checkable
class RunAware(Protocol):
    """A panel that behaves differently while a run is in progress."""

    def set_busy(self, busy: bool) -> None:
        """Adapt to a run in progress: ``busy`` from its start until its thread has ended."""


@runtime_checkable
class Closable(Protocol):
    """A panel with threads, timers or processes."""

    def shutdown(self) -> None:
        """End them all. Called when the window closes."""


@runtime_checkable
class Refusing(Protocol):
    """A panel that refuses requests with a ``Text``, which the window shows above the plots."""

    refused: SignalInstance
