"""The trials of a sweep as a table."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt
from PySide6.QtGui import QColor

from studio.formatting import format_duration, format_return, format_value
from studio.theme.theme import Theme
from studio.widgets.model_index import ROOT, Index
from td3core.config import label_of
from td3core.experiments.sweeps.folder import SweepState, TrialState
from td3core.protocol.trial_status import TRIAL_STATES, TrialStatus, names_of_states
from td3core.text import Text, tr

FIRST = (Text("Trial"), Text("State"), Text("Value"))
"""The columns of every sweep; those of its settings follow."""
SORT = Qt.ItemDataRole.UserRole
_LOWEST = float("-inf")


class TrialTable(QAbstractTableModel):
    """One row per trial: number, state, objective, and its values in the search space."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.trials: tuple[TrialState, ...] = ()
        self._names: tuple[str, ...] = ()
        self._best: int | None = None
        self._states = TRIAL_STATES

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        if self.trials:
            last = self.index(len(self.trials) - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def show_state(self, state: SweepState | None) -> None:
        """Show the trials of a sweep; rows of the same sweep keep their positions."""
        trials = state.trials if state else ()
        names = tuple(state.space) if state else ()
        before = self._shown()
        self._best = state.best.number if state and state.best else None
        self._states = names_of_states(running=state is not None and state.running)
        if names != self._names or len(trials) < len(self.trials):
            self.beginResetModel()
            self.trials, self._names = trials, names
            self.endResetModel()
            return
        count = len(self.trials)
        if len(trials) > count:
            self.beginInsertRows(QModelIndex(), count, len(trials) - 1)
            self.trials = trials
            self.endInsertRows()
        self.trials = trials
        pairs = enumerate(zip(before, self._shown(), strict=False))
        changed = [row for row, (old, new) in pairs if old != new]
        if changed:
            last = self.index(changed[-1], self.columnCount() - 1)
            self.dataChanged.emit(self.index(changed[0], 0), last)

    def _shown(self) -> list[tuple[TrialState, Text, bool]]:
        """Return what the rows show."""
        states, best = self._states, self._best
        return [(each, states[each.state], each.number == best) for each in self.trials]

    def rowCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of trials."""
        return 0 if parent.isValid() else len(self.trials)

    def columnCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of columns."""
        return 0 if parent.isValid() else len(FIRST) + len(self._names)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the heading of a column."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return str((*FIRST, *map(label_of, self._names))[section])
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return text, order, colour or tooltip of a cell."""
        if not index.isValid():
            return None
        trial, column = self.trials[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(trial, column)
        if role == SORT:
            return self._order(trial, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column != 1:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.ToolTipRole:
            return str(trial.reason) or None
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(trial)
        return None

    def _text(self, trial: TrialState, column: int) -> str:
        if column >= len(FIRST):
            return format_value(trial.settings.get(self._names[column - len(FIRST)], ""))
        value = format_return(trial.value)
        state = str(self._states[trial.state])
        if trial.number == self._best:
            state = tr("{state}, best", state=state)
        return (str(trial.number), state, value)[column]

    def _order(self, trial: TrialState, column: int) -> Any:
        if column >= len(FIRST):
            found = trial.settings.get(self._names[column - len(FIRST)], _LOWEST)
            return found if isinstance(found, int | float) else format_value(found)
        value = _LOWEST if trial.value is None else trial.value
        return (trial.number, trial.state, value)[column]

    def _colour(self, trial: TrialState) -> QColor | None:
        if trial.number == self._best:
            return QColor(self._theme.good)
        named = {
            TrialStatus.FAILED: self._theme.bad,
            TrialStatus.PRUNED: self._theme.muted,
        }
        return QColor(named[trial.state]) if trial.state in named else None


def words_of(state: SweepState) -> str:
    """Return the status of a sweep, in one line."""
    trials = Text.counted("{n} trial", "{n} trials", n=state.wanted)
    words = [f"{state.environment}, {trials}"]
    for status, text in names_of_states(running=state.running).items():
        count = state.count(status)
        if count:
            words.append(tr("{count} {state}", count=count, state=text))
    if state.best is not None and state.best.value is not None:
        value, number = format_return(state.best.value), state.best.number
        words.append(tr("best {value} in trial {number}", value=value, number=number))
    if state.running and state.time_left_s is not None:
        words.append(tr("{duration} left", duration=format_duration(state.time_left_s)))
    if state.message:
        words.append(str(state.message))
    return " · ".join(words)
