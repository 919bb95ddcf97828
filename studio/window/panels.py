"""The dock panels of the window: their list, places and construction.

To add a panel, write its widget in a package of its own and add a line to :data:`PANELS`. The
widget may implement any of the protocols in :mod:`studio.widgets.panel_abilities`; the window does
the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget

from studio.consent.code_consent import CodeConsent
from studio.experiments.group_session import GroupSession
from studio.experiments.run_queue import RunQueue
from studio.live.live_panel import LivePanel
from studio.replay.pane import ReplayPane
from studio.run_browser.browser import RunBrowser
from studio.session.controller import RunController
from studio.session.model import RunModel
from studio.setup.setup_panel import SetupPanel
from studio.theme.theme import Theme
from studio.widgets.messages import Log
from studio.widgets.panel_abilities import Closable, Refusing, RunAware, Themed
from td3core.text import Text

Side = Literal["left", "right", "bottom"]
P = TypeVar("P", bound=QWidget)


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelContext:
    """Everything a panel can be made from."""

    model: RunModel
    controller: RunController
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
    """Its dock is called ``<name>_dock``, which saved layouts refer to."""
    title: Text
    side: Side
    make: Callable[[PanelContext], QWidget]
    size: int
    """Pixels it needs to be useful: width on the left or right, height at the bottom."""
    scrolls: bool = False
    """True for a panel that may be taller than its dock."""
    compact: bool = False
    """True for a form whose dock is exactly as tall as the form; the docks below get the rest."""
    tabbed: bool = False
    """True if it is tabbed with the previous panel on the same side."""
    hidden: bool = False
    """True if it stays closed until the user opens it."""
    page: str = ""
    """The manual's page about it."""
    aside: bool = False
    """True for a bottom panel that goes beside the plots if the window is not tall enough."""
    late: bool = False
    """True if it is made when first opened, and then catches up: it takes the theme from the
    context, receives whether a run is in progress, and looks up the rest."""
    grows: bool = False
    """True if it keeps its share of the width when the window is resized."""


# Late panels are imported when they are made, so that they do not delay the start.


def _make_many(context: PanelContext) -> QWidget:
    from studio.experiments.groups_panel import ManyRunsPanel

    return ManyRunsPanel(context.session, context.queue, context.theme)


def _make_health(context: PanelContext) -> QWidget:
    from studio.health.health_panel import HealthPanel

    return HealthPanel(context.model, context.theme)


def _make_sweeps(context: PanelContext) -> QWidget:
    from studio.experiments.sweep_panel import SweepPanel

    return SweepPanel(context.runs_dir, context.consent, context.theme)


def _make_instruments(context: PanelContext) -> QWidget:
    from studio.instruments.instruments_panel import InstrumentPanel

    return InstrumentPanel(context.settings, context.theme)


def _make_algorithm(context: PanelContext) -> QWidget:
    from studio.algorithm_view.algorithm_panel import AlgorithmPanel

    return AlgorithmPanel(context.model, context.controller, context.theme)


PANELS = (
    PanelSpec(
        name="setup",
        page="training",
        title=Text("Setup"),
        side="left",
        make=lambda context: SetupPanel(context.runs_dir, context.settings, context.consent),
        size=292,
        scrolls=True,
        compact=True,
    ),
    PanelSpec(
        name="live",
        page="live-settings",
        title=Text("Live settings"),
        side="left",
        make=lambda context: LivePanel(context.controller.tune),
        size=292,
        scrolls=True,
    ),
    PanelSpec(
        name="replay",
        page="replay",
        title=Text("Replay"),
        side="right",
        make=lambda context: ReplayPane(context.runs_dir, context.consent, context.settings),
        size=420,
        scrolls=True,
        grows=True,
    ),
    PanelSpec(
        name="algorithm",
        page="algorithm-view",
        title=Text("Algorithm"),
        side="right",
        make=_make_algorithm,
        size=420,
        scrolls=True,
        tabbed=True,
        hidden=True,
        late=True,
    ),
    PanelSpec(
        name="log",
        title=Text("Log"),
        side="bottom",
        make=lambda context: Log(context.theme),
        size=130,
        hidden=True,
    ),
    PanelSpec(
        name="runs",
        page="runs",
        title=Text("Runs"),
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
        title=Text("Group and queue"),
        side="bottom",
        make=_make_many,
        size=250,
        aside=True,
        tabbed=True,
        hidden=True,
        late=True,
    ),
    PanelSpec(
        name="sweeps",
        page="sweeps",
        title=Text("Sweeps"),
        side="bottom",
        make=_make_sweeps,
        size=290,
        aside=True,
        tabbed=True,
        hidden=True,
        late=True,
    ),
    PanelSpec(
        name="health",
        page="health",
        title=Text("Health"),
        side="bottom",
        make=_make_health,
        size=250,
        tabbed=True,
        hidden=True,
        late=True,
    ),
    PanelSpec(
        name="instruments",
        page="instruments",
        title=Text("Instruments"),
        side="bottom",
        make=_make_instruments,
        size=230,
        tabbed=True,
        hidden=True,
        late=True,
    ),
)


class Panels:
    """The panels of one window. ``late`` ones are made on first use."""

    def __init__(self, context: PanelContext, specs: Sequence[PanelSpec] = PANELS) -> None:
        self._context, self._busy = context, False
        self._specs = {spec.name: spec for spec in specs}
        self._made: dict[str, QWidget] = {}
        self._awaited: dict[str, list[Callable[[Any], object]]] = {name: [] for name in self._specs}
        self._show_refusal: Callable[[Text], None] | None = None
        for spec in specs:
            if not spec.late:
                self._made[spec.name] = spec.make(context)

    @property
    def specs(self) -> tuple[PanelSpec, ...]:
        """The specs of all panels, including those not made yet."""
        return tuple(self._specs.values())

    def get(self, kind: type[P]) -> P:
        """Return the panel of a class.

        Raises:
            LookupError: the window has no such panel, or has not made it yet.
        """
        for panel in self._made.values():
            if isinstance(panel, kind):
                return panel
        raise LookupError(f"no panel is a {kind.__name__}")

    def named(self, name: str) -> QWidget:
        """Return the panel with this name; a late one is made now."""
        if name not in self._made:
            self._make_late(name)
        return self._made[name]

    def has(self, name: str) -> bool:
        """Return whether the window has a panel of this name, made or not."""
        return name in self._specs

    def if_made(self, name: str) -> QWidget | None:
        """Return the panel with this name, or None if it was never opened."""
        return self._made.get(name)

    def when_made(self, name: str, act: Callable[[Any], object]) -> None:
        """Call ``act`` with the panel of this name, now or as soon as it is made.

        Never, if the window has no such panel.
        """
        if name in self._made:
            act(self._made[name])
        elif self.has(name):
            self._awaited[name].append(act)

    def _make_late(self, name: str) -> None:
        panel = self._made[name] = self._specs[name].make(self._context)
        if isinstance(panel, RunAware):
            panel.set_busy(self._busy)
        if isinstance(panel, Refusing) and self._show_refusal is not None:
            panel.refused.connect(self._show_refusal)
        for act in self._awaited.pop(name):
            act(panel)

    def set_theme(self, theme: Theme) -> None:
        """Pass a theme on."""
        self._context = replace(self._context, theme=theme)
        for panel in self._made.values():
            if isinstance(panel, Themed):
                panel.set_theme(theme)

    def set_busy(self, busy: bool) -> None:
        """Pass on whether a run is in progress."""
        self._busy = busy
        for panel in self._made.values():
            if isinstance(panel, RunAware):
                panel.set_busy(busy)

    def shutdown(self) -> None:
        """Make every panel end its threads and processes."""
        for panel in self._made.values():
            if isinstance(panel, Closable):
                panel.shutdown()

    def on_refusal(self, show: Callable[[Text], None]) -> None:
        """Call ``show`` with the message of every refused request."""
        self._show_refusal = show
        for panel in self._made.values():
            if isinstance(panel, Refusing):
                panel.refused.connect(show)
