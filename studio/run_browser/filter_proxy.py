"""Filters the runs by a search."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QRegularExpression, QSortFilterProxyModel, Qt

from studio.formatting import plain_minus
from studio.run_browser.columns import RunColumn
from studio.run_browser.tree_model import SEARCH, RunTreeModel


class RunFilterProxy(QSortFilterProxyModel):
    """Keeps the runs that contain every word of a search; the model itself sorts."""

    def __init__(self, model: RunTreeModel) -> None:
        super().__init__(model)
        self._model = model
        self._state_as_icon = False
        self.setSourceModel(model)
        self.setFilterRole(SEARCH)
        # A matching branch is shown below its parent.
        self.setRecursiveFilteringEnabled(True)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, after a click on its heading."""
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
        """Show no heading above states if the column is too ``narrow`` for it."""
        self._state_as_icon = narrow

    def find(self, path: Path | None) -> QModelIndex:
        """Return the first cell of a run, or an invalid index if it is not shown."""
        return self.mapFromSource(self._model.find(path))

    def branched(self) -> list[Path]:
        """Return the runs that have branches below them."""
        return self._model.branched()

    def count_found(self) -> int:
        """Count the runs that match; parents shown because of a branch do not count."""
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
