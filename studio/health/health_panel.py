"""The panel of a run's health: problems, suggested changes, and every quantity."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QScrollArea,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import format_share
from studio.health.advice_card import AdviceCard
from studio.health.board import AdviceBoard
from studio.health.paired_test_box import PairedTestBox
from studio.health.table import CurveDelegate, HealthColumn, HealthTable
from studio.session.model import RunModel
from studio.tasks.background_task import BackgroundTask
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.controls import full_width, make_table, show_columns
from studio.widgets.labels import ElidedLabel, plain_label
from studio.widgets.sight import Sight
from td3core.analysis.saturation import saturation
from td3core.errors import RequestError
from td3core.runs.layout import CHECKPOINTS, LAST
from td3core.text import Text, tr

_REFRESH_MS = 500
_AGENT_STEPS = 1_000
"""Steps after which the newest agent is read again."""
_WIDTHS = {HealthColumn.VALUE: 74, HealthColumn.CURVE: 56, HealthColumn.RANGE: 104}
_NAME_WIDTH = 116
_FINE = Text("Nothing is out of order.")
_NO_RUN = Text("No run yet.")
_OLD = Text("This run did not measure its health.")


class HealthPanel(QWidget):
    """Reads the current run only while it is visible."""

    try_wanted = Signal(object)
    """Carries the :class:`~td3core.analysis.advice.Advice` whose change the user wants to try."""

    def __init__(self, model: RunModel, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("health_panel")
        self._model = model
        self._board: AdviceBoard | None = None
        self._obstacle = ""
        self._cards: dict[str, AdviceCard] = {}
        self.table = HealthTable(theme, self)
        self._delegate = CurveDelegate(theme, self)
        self.paired_test = PairedTestBox()
        self._note = plain_label()
        self._note.setObjectName("health_note")
        self._note.setProperty("role", "muted")
        self._dimensions = ElidedLabel()
        self._dimensions.setObjectName("health_dimensions")
        self._dimensions.setProperty("role", "muted")
        self._dimensions.hide()
        self._read_at: tuple[Path | None, int] = (None, -1)
        """Run and step of the agent whose dimensions are shown, or being read."""
        self._reader = BackgroundTask("read-saturation", self)
        self._sight = Sight(self, _REFRESH_MS)
        self._sight.delay.setObjectName("refresh_timer")
        self._sight.due.connect(self.refresh)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 6)
        layout.setSpacing(10)
        layout.addWidget(self._make_advice(), 4)
        right = QVBoxLayout()
        right.setSpacing(2)
        right.addWidget(self._make_table(), 1)
        right.addWidget(self._dimensions)
        layout.addLayout(right, 6)
        model.curves_changed.connect(self._sight.ask)
        model.run_opened.connect(self._sight.ask)

    def _make_advice(self) -> QScrollArea:
        page = QWidget()
        page.setObjectName("form_page")
        page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._column = QVBoxLayout(page)
        self._column.setContentsMargins(6, 4, 6, 4)
        self._column.setSpacing(4)
        self._column.addWidget(self.paired_test)
        self._column.addWidget(self._note)
        self._column.addStretch(1)
        area = QScrollArea()
        area.setObjectName("health_advice")
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        # The keyboard focus goes to the buttons, which are scrolled into view.
        area.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setMinimumWidth(scaled(160))
        area.setWidget(page)
        return area

    def _make_table(self) -> QTableView:
        view = make_table("health_table", tr("Quantities of the run's health"), self.table)
        view.setItemDelegateForColumn(HealthColumn.CURVE, self._delegate)
        view.setAlternatingRowColors(False)
        view.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.verticalHeader().setDefaultSectionSize(scaled(22))
        header = view.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(HealthColumn.NAME, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            view.setColumnWidth(column, scaled(width))
        self._view = view
        return view

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Hide columns that do not fit; their texts are in the tooltips."""
        super().resizeEvent(event)
        widths: dict[int, int] = {column: full_width(self._view, column) for column in _WIDTHS}
        show_columns(self._view, widths, self._view.width() - scaled(_NAME_WIDTH))

    def use_board(self, board: AdviceBoard) -> None:
        """Show the advice of a board."""
        self._board = board
        board.changed.connect(self.refresh)
        self.refresh()

    def set_obstacle(self, reason: str) -> None:
        """Set why no change can be tried now; empty if one can."""
        self._obstacle = reason
        self.refresh()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.table.set_theme(theme)
        self._delegate.set_theme(theme)
        self._view.viewport().update()

    @Slot()
    def refresh(self) -> None:
        """Show the current values, if the panel is visible."""
        board = self._board
        if board is None or not self._sight.seen:
            return
        record, advice = self._model.record, board.advice
        rules = board.rules
        broken = {each.rule.quantity for each in advice}
        self.table.show(record.curves, rules, broken)
        self._make_room()
        for name in self._cards.keys() - {each.rule.name for each in advice}:
            card = self._cards.pop(name)
            card.hide()
            card.deleteLater()
        for each in advice:
            name = each.rule.name
            if name not in self._cards:
                card = self._cards[name] = AdviceCard(each)
                card.tried.connect(self.try_wanted)
                card.dismissed.connect(lambda advice: board.dismiss(advice.rule))
                self._column.insertWidget(self._column.count() - 1, card)
            self._cards[name].update_advice(each, self._obstacle)
        self._read_dimensions()
        self._note.setVisible(not advice)
        self._note.setText(str(self._said()))

    def _make_room(self) -> None:
        """Let "not measured" extend into the column of the curve, which is empty then."""
        self._view.clearSpans()
        for row in self.table.unmeasured if self.table.is_old else ():
            self._view.setSpan(row, HealthColumn.VALUE, 1, 2)

    def shutdown(self) -> None:
        """Stop reading."""
        self._sight.delay.stop()
        self._reader.cancel()

    def _read_dimensions(self) -> None:
        """Read from the run's newest agent which dimensions of its actions are saturated."""
        record = self._model.record
        now = record.progress.env_steps if record.progress is not None else 0
        run, step = self._read_at
        if record.run is None or (run == record.run and now - step < _AGENT_STEPS):
            return
        if run != record.run:
            self._dimensions.hide()
        self._read_at = record.run, now
        path = record.run / CHECKPOINTS / LAST
        # Without a checkpoint or a replay buffer, the result is empty.
        self._reader.read(lambda _: _dimensions_of(path), self._show_dimensions)

    def _show_dimensions(self, shares: tuple[float, ...]) -> None:
        self._dimensions.setVisible(bool(shares))
        told = " · ".join(map(format_share, shares))
        text = tr("Saturated by action dimension: {shares}", shares=told)
        self._dimensions.setText(text)

    def _said(self) -> Text:
        record = self._model.record
        if record.run is None:
            return _NO_RUN
        return _OLD if self.table.is_old else _FINE


def _dimensions_of(path: Path) -> tuple[float, ...]:
    """Return the saturated share of each action dimension; empty if unknown."""
    try:
        return tuple(saturation(path).tolist())
    except RequestError:
        return ()
