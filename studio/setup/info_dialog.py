"""The numbers of an environment's info, with check boxes for those that a run records."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QWidget,
)

from studio.widgets.forms import make_dialog_column, resize_within_screen
from studio.widgets.labels import plain_label
from studio.widgets.setting_names import in_labels
from td3core.config.info_columns import MOST
from td3core.text import Text, tr


class InfoDialog(QDialog):
    """Lists the numbers that random steps returned; checked ones are recorded."""

    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("info_dialog")
        self.setWindowTitle(tr("Info columns"))
        resize_within_screen(self, 420, 420)
        self.about = plain_label()
        self.about.setObjectName("info_about")
        self._busy = QProgressBar()
        self._busy.setAccessibleName(tr("Examining the environment"))
        self._busy.setTextVisible(False)
        self._busy.setRange(0, 0)
        self.names = QListWidget()
        self.names.setObjectName("info_list")
        self.names.setSpacing(2)
        self.names.setAccessibleName(tr("Numbers of the environment's info"))
        self.names.itemChanged.connect(self._limit)
        buttons = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(buttons.Ok | buttons.Cancel)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.finished.connect(lambda _: self.dismissed.emit())
        layout = make_dialog_column(self)
        for widget in (self.about, self._busy, self.names, self.buttons):
            layout.addWidget(widget)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The checked names."""
        return tuple(item.text() for item in self._items() if _ticked(item))

    def show_waiting(self, chosen: Sequence[str]) -> None:
        """Show that the environment is being examined, with the earlier choice listed."""
        self.about.setText(tr("Taking random steps in a separate process …"))
        self._busy.show()
        self._fill(chosen, chosen)

    def show_names(self, names: Sequence[str]) -> None:
        """List the numbers returned by the environment."""
        self._busy.hide()
        chosen = self.chosen
        about = Text(
            "The mean of each over the steps of an episode becomes a column of episodes.csv, which"
            " any plot can show. At most {most}.",
            most=MOST,
        )
        none = Text("Random steps returned no numbers in info.")
        self.about.setText(str(about if names else none))
        self._fill([*names, *(name for name in chosen if name not in names)], chosen)

    def show_refusal(self, sentence: Text) -> None:
        """Show why the environment could not be examined."""
        self._busy.hide()
        self.about.setText(in_labels(sentence))

    def _items(self) -> list[QListWidgetItem]:
        return [self.names.item(at) for at in range(self.names.count())]

    def _fill(self, names: Sequence[str], ticked: Sequence[str]) -> None:
        self.names.blockSignals(True)
        self.names.clear()
        for name in names:
            item = QListWidgetItem(name, self.names)
            state = Qt.CheckState.Checked if name in ticked else Qt.CheckState.Unchecked
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(state)
        self.names.blockSignals(False)
        self._limit()

    @Slot()
    def _limit(self) -> None:
        """Prevent checking more than can be recorded."""
        full = len(self.chosen) >= MOST
        self.names.blockSignals(True)
        for item in self._items():
            flags, usable = item.flags(), _ticked(item) or not full
            enabled = Qt.ItemFlag.ItemIsEnabled
            item.setFlags(flags | enabled if usable else flags & ~enabled)
        self.names.blockSignals(False)


def _ticked(item: QListWidgetItem) -> bool:
    return item.checkState() == Qt.CheckState.Checked
