"""The dock panels of the window: which there are, where they go, and how each is made.

To add a panel, write its widget in a room of its own and add a line to :data:`PANELS`. The widget
may implement any of the protocols in :mod:`studio.widgets.panel`; the window does the rest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget

from studio.consent.code_consent import CodeConsent
from studio.experiments.group_session import GroupSession
from studio.experiments.panel import ManyRunsPanel
from studio.experiments.run_queue import RunQueue
from studio.experiments.sweep_panel import SweepPanel
from studio.launch.launcher import RunLauncher
from studio.live.panel import LivePanel
from studio.replay.instruments.panel import InstrumentPanel
from studio.replay.pane import ReplayPane
from studio.run_browser.panel import RunBrowser
from studio.session.controller import RunController
from studio.session.model import RunModel
from studio.setup.panel import SetupPanel
from studio.theme.theme import Theme
from studio.widgets.messages import Log
from studio.widgets.panel import Closable, Refusing, RunAware, Themed

Side = Literal["left", "right", "bottom"]
P = TypeVar("P", bound=QWidget)


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelContext:
    """Everything a panel can be made from."""

    model: RunModel
    controller: RunController
    launcher: RunLauncher
    consent: CodeConsent
    session: GroupSession
    queue: RunQueue
    runs_dir: Path
    settings: QSettings
    theme: Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSpec:
    """One panel."""

    name: str
    """Its dock is called ``<name>_dock``. Saved layouts refer to that."""
    title: str
    side: Side
    make: Callable[[PanelContext], QWidget]
    size: int
    """Pixels it needs to be useful: its width on the left or right, its height at the bottom."""
    scrolls: bool = False
    """True for a form that may be taller than its dock."""
    compact: bool = False
    """True for a form whose dock is as tall as the form; the docks below it get the rest."""
    tabbed: bool = False
    """True if it shares the place of the panel before it on the same side."""
    hidden: bool = False
    """True if it stays closed until the user opens it."""
    page: str = ""
    """The page of the manual about it."""
    aside: bool = False
    """True for one of the bottom that goes beside the plots where the window is low."""
    grows: bool = False
    """True if it keeps its share of the width when the window is resized."""


PANELS = (
    PanelSpec(
        name="setup",
        page="training",
        title="Setup",
        side="left",
        make=lambda context: SetupPanel(context.runs_dir, context.settings, context.consent),
        size=292,
        scrolls=True,
        compact=True,
    ),
    PanelSpec(
        name="live",
        page="live-settings",
        title="Live settings",
        side="left",
        make=lambda context: LivePanel(context.controller.tune),
        size=292,
        scrolls=True,
    ),
    PanelSpec(
        name="replay",
        page="replay",
        title="Replay",
        side="right",
        make=lambda context: ReplayPane(context.runs_dir, context.consent, context.settings),
        size=420,
        grows=True,
    ),
    PanelSpec(
        name="log",
        title="Log",
        side="bottom",
        make=lambda context: Log(context.theme),
        size=130,
        hidden=True,
    ),
    PanelSpec(
        name="runs",
        page="runs",
        title="Runs",
        side="bottom",
        make=lambda context: RunBrowser(context.runs_dir, context.theme),
        size=290,
        aside=True,
        tabbed=True,
        hidden=True,
    ),
    PanelSpec(
        name="many",
        page="many-runs",
        title="Group and queue",
        side="bottom",
        make=lambda context: ManyRunsPanel(context.session, context.queue, context.theme),
        size=250,
        aside=True,
        tabbed=True,
        hidden=True,
    ),
    PanelSpec(
        name="sweeps",
        page="sweeps",
        title="Sweeps",
        side="bottom",
        make=lambda context: SweepPanel(context.runs_dir, context.consent, context.theme),
        size=290,
        aside=True,
        tabbed=True,
        hidden=True,
    ),
    PanelSpec(
        name="instruments",
        page="instruments",
        title="Instruments",
        side="bottom",
        make=lambda context: InstrumentPanel(context.settings, context.theme),
        size=230,
        tabbed=True,
        hidden=True,
    ),
)


class Panels:
    """The panels of one window, each with the spec it was made from."""

    def __init__(self, context: PanelContext, specs: Sequence[PanelSpec] = PANELS) -> None:
        self._made = [(spec, spec.make(context)) for spec in specs]

    def __iter__(self) -> Iterator[tuple[PanelSpec, QWidget]]:
        return iter(self._made)

    def get(self, kind: type[P]) -> P:
        """Return the panel of a class.

        Raises:
            LookupError: the window has no such panel.
        """
        for _, panel in self._made:
            if isinstance(panel, kind):
                return panel
        raise LookupError(f"no panel is a {kind.__name__}")

    def set_theme(self, theme: Theme) -> None:
        """Pass a theme on."""
        for _, panel in self._made:
            if isinstance(panel, Themed):
                panel.set_theme(theme)

    def set_busy(self, busy: bool) -> None:
        """Pass on whether a run is in progress."""
        for _, panel in self._made:
            if isinstance(panel, RunAware):
                panel.set_busy(busy)

    def shutdown(self) -> None:
        """Let every panel end its threads and processes."""
        for _, panel in self._made:
            if isinstance(panel, Closable):
                panel.shutdown()

    def on_refusal(self, show: Callable[[str], None]) -> None:
        """Have ``show`` called with the sentence of every refused request."""
        for _, panel in self._made:
            if isinstance(panel, Refusing):
                panel.refused.connect(show)
