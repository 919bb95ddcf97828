"""Which of the runs are shown: those that a search finds."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QRegularExpression, QSortFilterProxyModel, Qt

from studio.formatting import plain_minus
from studio.run_browser.columns import RunColumn
from studio.run_browser.tree_model import SEARCH, RunTreeModel


class RunFilterProxy(QSortFilterProxyModel):
    """Keeps the runs in which every word of a search occurs; the model itself sorts."""

    def __init__(self, model: RunTreeModel) -> None:
        super().__init__(model)
        self._model = model
        self._state_as_icon = False
        self.setSourceModel(model)
        self.setFilterRole(SEARCH)
        # A branch that is found is shown below its parent.
        self.setRecursiveFilteringEnabled(True)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, as a click on its heading asks for."""
        self._model.sort(column, order)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the heading of a column; none above icons."""
        shown = role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal
        if shown and self._state_as_icon and section == RunColumn.STATE:
            return ""
        return super().headerData(section, orientation, role)

    def show_state_as_icon(self, narrow: bool) -> None:
        """Show no heading above states, whose column is too ``narrow`` for it."""
        self._state_as_icon = narrow

    def find(self, path: Path | None) -> QModelIndex:
        """Return the first cell of a run, or an invalid index if it is not shown."""
        return self.mapFromSource(self._model.find(path))

    def branched(self) -> list[Path]:
        """Return the runs that others stand below."""
        return self._model.branched()

    def count_found(self) -> int:
        """Count the runs that match; parents shown for the sake of a branch do not."""
        wanted = self.filterRegularExpression()
        return sum(wanted.match(text).hasMatch() for text in self._model.searched())

    def search(self, text: str) -> None:
        """Show only runs with each of these words somewhere in their row or note."""
        words = "".join(
            f"(?=.*{QRegularExpression.escape(word)})" for word in plain_minus(text).split()
        )
        options = QRegularExpression.PatternOption.CaseInsensitiveOption
        pattern = QRegularExpression(f"^{words}" if words else "", options)
        self.setFilterRegularExpression(pattern)
