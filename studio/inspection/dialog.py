"""Inspection of a checkpoint: a batch of its replay buffer, and its critic over the actions."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QItemSelection, Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import format_count, format_number
from studio.inspection.batch_table import BatchModel, make_batch_view, width_needed
from studio.inspection.landscape_view import LandscapeView, in_words
from studio.tasks.background_task import BackgroundTask
from studio.widgets.controls import describe
from studio.widgets.forms import make_dialog_column, resize_within_screen
from studio.widgets.labels import ElidedLabel, plain_label
from studio.widgets.number_box import WholeNumberBox
from studio.widgets.setting_names import in_labels
from td3core.analysis.inspection import MOST, Inspection, Landscape, inspect
from td3core.text import Text, tr

_SIZE, _LEFT = (1080, 620), 590
_MANY = 2**31 - 1
_COUNT = 256


class InspectionDialog(QDialog):
    """Shows one checkpoint; everything is read and computed in the background."""

    def __init__(self, path: Path, title: str, parent: QWidget | None = None) -> None:
        """Inspect a checkpoint; ``title`` is the name of its run."""
        super().__init__(parent)
        self.setObjectName("inspection_dialog")
        self.setWindowTitle(tr("Inspect a batch"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        resize_within_screen(self, *_SIZE)
        self._path, self._run = path, title
        self.found: Inspection | None = None
        self._task = BackgroundTask("inspect", self)
        self._task.failed.connect(self._show_problem)
        self._plane_task = BackgroundTask("landscape", self)
        self._plane_task.failed.connect(self._show_problem)
        self.heading = ElidedLabel()
        self.heading.setProperty("role", "title")
        self.model = BatchModel()
        self.table = make_batch_view(self.model, tr("Transitions of the batch"))
        self.landscape = LandscapeView()
        self.sentence = plain_label()
        self.sentence.setObjectName("inspection_sentence")
        self.about = plain_label()
        self.about.setObjectName("inspection_about")
        self.about.setProperty("role", "muted")
        self.dims = [self._dim_combo(name) for name in ("first", "second")]
        self._make_choices()
        self._parts, self._arranged = QSplitter(), False
        self._lay_out()
        self.table.selectionModel().selectionChanged.connect(self._on_row)
        self.finished.connect(self._cancel)
        self.heading.setText(str(Text("{file} of {run}", file=path.name, run=title)))
        self._draw()

    @Slot()
    def _cancel(self) -> None:
        self._task.cancel()
        self._plane_task.cancel()

    def _dim_combo(self, which: str) -> QComboBox:
        combo = QComboBox()
        name = tr("Action on the x axis") if which == "first" else tr("Action on the y axis")
        describe(combo, f"inspection_{which}_combo", name, name)
        combo.activated.connect(self._show_landscape)
        return combo

    def _make_choices(self) -> None:
        self.draw, self.count = WholeNumberBox(0, _MANY), WholeNumberBox(1, MOST)
        # Every batch is one press of an arrow key away, also beyond the hundredth.
        self.draw.setStepType(WholeNumberBox.StepType.DefaultStepType)
        tip = tr("Seed of the batch: the same number always draws the same transitions")
        describe(self.draw, "inspection_draw", tr("Draw"), tip)
        tip = tr("Transitions of the batch")
        describe(self.count, "inspection_count", tr("Transitions"), tip)
        self.count.setValue(_COUNT)
        for box in (self.draw, self.count):
            box.valueChanged.connect(self._draw)

    def _lay_out(self) -> None:
        left, right, parts = QWidget(), QWidget(), self._parts
        choices, dims = QHBoxLayout(), QHBoxLayout()
        for text, box in ((tr("Transitions"), self.count), (tr("Draw"), self.draw)):
            label = QLabel(text)
            label.setBuddy(box)
            choices.addWidget(label)
            choices.addWidget(box)
        choices.addStretch(1)
        for text, combo in zip((tr("Q₁ over"), tr("and")), self.dims, strict=True):
            label = QLabel(text)
            label.setBuddy(combo)
            dims.addWidget(label)
            dims.addWidget(combo)
        dims.addStretch(1)
        for side, row, main, below in (
            (left, choices, self.table, self.about),
            (right, dims, self.landscape, self.sentence),
        ):
            column = QVBoxLayout(side)
            column.setContentsMargins(0, 0, 0, 0)
            column.addLayout(row)
            column.addWidget(main, 1)
            column.addWidget(below)
            parts.addWidget(side)
        parts.setChildrenCollapsible(False)
        parts.setStretchFactor(0, 1)
        parts.setStretchFactor(1, 1)
        parts.setSizes([_LEFT, _SIZE[0] - _LEFT])
        parts.splitterMoved.connect(self._on_moved)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = make_dialog_column(self)
        layout.addWidget(self.heading)
        layout.addWidget(parts, 1)
        layout.addWidget(buttons)

    # The batch ----------------------------------------------------------------------------------

    @Slot()
    def _draw(self) -> None:
        """Draw a batch in the background."""
        work = partial(inspect, self._path, self.count.value(), self.draw.value())
        self._task.read(lambda _: work(), self._show)

    def _show(self, found: Inspection) -> None:
        self.found = found
        step = format_count(found.env_steps)
        self.heading.setText(str(Text("{run}, step {step}", run=self._run, step=step)))
        self._offer_dims(found.act_dim)
        self.model.show_batch(found)
        header = self.table.horizontalHeader()
        self.table.sortByColumn(header.sortIndicatorSection(), header.sortIndicatorOrder())
        self._fit_table()
        shares = abs(found.errors[0])
        self.about.setText(
            tr(
                "Means: y {target}, Q₁ {value}, |Q₁ − y| {error}. y has the noise that smooths the"
                " target, as in an update. Select a transition to see Q₁ in its state.",
                target=format_number(float(found.target.mean())),
                value=format_number(float(found.values[0].mean())),
                error=format_number(float(shares.mean())),
            )
        )
        self.table.selectRow(0)
        self._show_landscape()

    @Slot()
    def _on_moved(self) -> None:
        self._arranged = True

    def _fit_table(self) -> None:
        """Widen the table to show all columns in full, unless the user has chosen its width."""
        sizes = self._parts.sizes()
        needed = width_needed(self.table)
        if not self._arranged and 0 < sizes[0] < needed:
            self._parts.setSizes([needed, sum(sizes) - needed])

    def _offer_dims(self, act_dim: int) -> None:
        if self.dims[0].count() == act_dim:
            return
        for at, combo in enumerate(self.dims):
            combo.clear()
            combo.addItems([tr("action {number}", number=n + 1) for n in range(act_dim)])
            combo.setCurrentIndex(min(at, act_dim - 1))
            combo.setEnabled(act_dim > 1)

    @Slot(object)
    def _show_problem(self, sentence: Text) -> None:
        self.about.setText(in_labels(sentence))

    # The landscape ------------------------------------------------------------------------------

    @Slot(QItemSelection, QItemSelection)
    def _on_row(self, selected: QItemSelection, _: QItemSelection) -> None:
        if not selected.isEmpty():
            self._show_landscape()

    @Slot()
    def _show_landscape(self) -> None:
        rows = self.table.selectionModel().selectedRows()
        if self.found is None or not rows:
            return
        first, second = (combo.currentIndex() for combo in self.dims)
        if first == second and self.found.act_dim > 1:
            # A plane needs two different dimensions: change the second one.
            second = (first + 1) % self.found.act_dim
            self.dims[1].setCurrentIndex(second)
        row = int(self.model.order[rows[0].row()])
        work = partial(self.found.landscape, row, first, second)
        self._plane_task.read(lambda _: work(), self._show_plane)

    def _show_plane(self, plane: Landscape) -> None:
        self.landscape.show_landscape(plane)
        self.sentence.setText(str(in_words(plane)))
