"""The panel of the algorithm view: requests updates while visible, and single updates."""

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from studio.algorithm_view.boxes import boxes_of, climbed_critics
from studio.algorithm_view.diagram import Diagram
from studio.algorithm_view.readings import (
    Reading,
    arrow_labels,
    details,
    is_delayed,
    readings,
    switched_off,
)
from studio.formatting import format_count
from studio.session.controller import RunController, SessionState
from studio.session.model import RunModel
from studio.theme.theme import Theme
from studio.widgets.controls import enable, make_button, make_label, make_row
from studio.widgets.labels import ElidedLabel, plain_label
from studio.widgets.sight import Sight
from td3core.config import Tunables
from td3core.config.algorithms import TD3, entry_of
from td3core.protocol.events import Traced
from td3core.text import Text, tr

_NO_RUN = Text("Numbers appear here while a run trains.")
_OTHER = Text("Runs of other processes cannot be watched.")
_SOON = Text("Waiting for the next update.")
_PAUSED = Text("Paused. Step does the next update.")
_NOT_PAUSED = Text("pause the run first")
_MOST_WIDTH = 560
"""In pixels: next to the other panels, a window of 1,280 has no more space with large fonts."""


class _DiagramArea(QScrollArea):
    """Scrolls the picture horizontally if the font makes it too wide for the window."""

    def __init__(self, diagram: Diagram) -> None:
        super().__init__()
        self._diagram = diagram
        self.setWidget(diagram)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        diagram.chosen.connect(self._reveal)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the height of the picture, and its width up to a limit."""
        needed = self._diagram.minimumSizeHint()
        if needed.width() <= _MOST_WIDTH:
            return needed
        bar = self.horizontalScrollBar().sizeHint().height()
        return QSize(_MOST_WIDTH, needed.height() + bar)

    @Slot(str)
    def _reveal(self, name: str) -> None:
        self.ensureWidgetVisible(self._diagram.boxes[name])


class AlgorithmPanel(QWidget):
    """One update as a picture. While it cannot be seen, nothing is computed or sent for it."""

    def __init__(self, model: RunModel, controller: RunController, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("algorithm_panel")
        self._model, self._controller = model, controller
        self._seen: Traced | None = None
        self._tracing = False
        self._sight = Sight(self)
        self._sight.changed.connect(self._on_sight)
        self._boxes = boxes_of(TD3)
        self._chosen = "y"
        self.step_button = make_button(
            "algorithm_step_button", tr("Step"), tr("Do the next update, then pause again")
        )
        self.step_button.clicked.connect(controller.step)
        self.message = ElidedLabel()
        self.message.setObjectName("algorithm_message")
        self.message.setProperty("role", "muted")
        self.diagram = Diagram()
        self.diagram.chosen.connect(self._show_text)
        self._title = make_label("algorithm_title")
        self._title.setProperty("role", "title")
        self._numbers = plain_label()
        self._numbers.setObjectName("algorithm_numbers")
        self._about = plain_label()
        self._about.setObjectName("algorithm_about")
        self._about.setProperty("role", "muted")
        self._lay_out()
        controller.traced.connect(self._on_traced)
        for announced in (model.run_started, model.run_opened):
            announced.connect(self._forget)
        model.tuned.connect(self._show)
        controller.state_changed.connect(self._show_state)
        self.set_theme(theme)
        self.diagram.boxes[self._chosen].setChecked(True)
        self._show()

    def _lay_out(self) -> None:
        row = make_row(self.step_button, self.message)
        row.setStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 6)
        layout.setSpacing(6)
        layout.addLayout(row)
        layout.addWidget(_DiagramArea(self.diagram), 1)
        for label in (self._title, self._numbers, self._about):
            layout.addWidget(label)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.diagram.set_theme(theme)

    @property
    def seen(self) -> Traced | None:
        """The displayed update."""
        return self._seen

    # What happens -------------------------------------------------------------------------------

    @Slot(object)
    def _on_traced(self, traced: Traced) -> None:
        # A single update was asked for here, perhaps a moment before the panel counts as visible.
        if self._tracing or traced.single:
            self._seen = traced
            self._show()

    @Slot()
    def _forget(self) -> None:
        self._seen = None
        self._show()

    @Slot()
    def _show_state(self) -> None:
        why_not = "" if self._can_step else str(_NOT_PAUSED)
        enable(self.step_button, why_not)
        self.message.setText(self._what_is_shown())

    @property
    def _can_step(self) -> bool:
        return self._controller.busy and self._controller.state is SessionState.PAUSED

    def _what_is_shown(self) -> str:
        seen, record = self._seen, self._model.record
        entry = entry_of(self._algorithm)
        if not entry.tracer:
            return tr(
                "This run trains with {algorithm}; the picture is of TD3.", algorithm=entry.title
            )
        if self._controller.following:
            return str(_OTHER)
        if seen is not None:
            moved = tr("the critics")
            if seen.moved_actor:
                moved = tr("all networks")
            return tr(
                "Update {number} at step {step} moved {moved}",
                number=format_count(seen.updates),
                step=format_count(seen.env_steps),
                moved=moved,
            )
        if not self._controller.busy:
            return str(_NO_RUN)
        if self._controller.state is SessionState.PAUSED:
            return str(_PAUSED)
        reached = record.progress.env_steps if record.progress else 0
        if record.config is not None and reached < record.config.learning_starts:
            return tr(
                "Waiting for the first update: it comes after step {step}.",
                step=format_count(record.config.learning_starts),
            )
        return str(_SOON)

    # Showing ------------------------------------------------------------------------------------

    @property
    def _algorithm(self) -> str:
        config = self._model.record.config
        return TD3 if config is None else config.algorithm

    def _tunables(self) -> Tunables | None:
        """Return the live settings of the displayed update, or of the run."""
        if self._seen is not None:
            return self._seen.tunables
        progress = self._model.record.progress
        return progress.tunables if progress is not None else self._model.record.first_tunables

    @Slot()
    def _show(self) -> None:
        if not self._sight.seen:
            return
        seen, record = self._seen, self._model.record
        tunables = self._tunables()
        self._boxes = boxes_of(self._algorithm)
        self.diagram.show_boxes(self._boxes, climbed_critics(record.config))
        found: dict[str, Reading] = {}
        if not is_delayed(tunables):
            found["actor_step"] = Reading("", tr("no delay"))
        labels: dict[str, str] = {}
        moved: list[str] = []
        if seen is not None:
            noise = record.progress.exploration_noise if record.progress else 0.0
            found |= readings(seen, noise, self._algorithm)
            labels = arrow_labels(seen, self._algorithm)
            moved = [change.network for change in seen.changes if change.step]
        self.diagram.show_update(found, labels, switched_off(record.config, tunables), moved)
        self._show_text(self._chosen)
        self._show_state()

    @Slot(str)
    def _show_text(self, name: str) -> None:
        self._chosen, box = name, self._boxes[name]
        self._title.setText(f"{box.title}:   {box.equation}")
        # An empty line keeps its space: the picture must not move.
        known = details(name, self._seen, self._algorithm) if self._seen is not None else ""
        self._numbers.setText(known or " ")
        self._about.setText(str(box.about))

    # Requesting ---------------------------------------------------------------------------------

    @Slot()
    def _on_sight(self) -> None:
        self._trace(self._sight.seen)
        self._show()

    def _trace(self, wanted: bool) -> None:
        if wanted is not self._tracing:
            self._tracing = wanted
            self._controller.trace(wanted)

    def shutdown(self) -> None:
        """Stop requesting updates."""
        self._trace(False)
