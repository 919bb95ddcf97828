"""A checkpoint is seen from inside: its batch in a table, its critic over two actions."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter

from studio.inspection.dialog import InspectionDialog
from studio.inspection.landscape_view import in_words
from td3core.analysis.inspection import Landscape, inspect
from tests.td3core.helpers import finish

PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspected")
    ended = finish(folder, "Reacher-v5", steps=160, learning_starts=40, batch_size=16)
    assert ended.last_checkpoint is not None
    return ended.last_checkpoint


@pytest.fixture
def dialog(qtbot, agent: Path) -> Iterator[InspectionDialog]:
    made = InspectionDialog(agent, "my run")
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(lambda: bool(made.sentence.text()), timeout=PATIENCE_MS)
    yield made
    made.reject()


def column(dialog: InspectionDialog, name: str) -> list[float]:
    model = dialog.model
    heads = [model.headerData(at, Qt.Orientation.Horizontal) for at in range(model.columnCount())]
    at = heads.index(name)
    texts = [str(model.data(model.index(row, at))) for row in range(model.rowCount())]
    return [float(text.replace("−", "-").replace(",", "")) for text in texts]


@pytest.mark.slow
def test_the_batch_is_listed_with_the_largest_error_first_and_can_be_sorted(
    qtbot, dialog: InspectionDialog, agent: Path
) -> None:
    found = inspect(agent, 256, 0)
    assert dialog.heading.text() == "my run, step 160"
    errors = column(dialog, "Q₁ − y")
    assert len(errors) == len(found.target)
    assert np.abs(errors) == pytest.approx(np.sort(np.abs(found.errors[0]))[::-1], rel=0.02)
    selected = dialog.table.selectionModel().selectedRows()[0].row()
    chosen = int(dialog.model.order[selected])
    dialog.table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    rewards = column(dialog, "Reward")
    assert rewards == sorted(rewards)
    # The transition that was selected still is, wherever it went.
    now = dialog.table.selectionModel().selectedRows()[0].row()
    assert int(dialog.model.order[now]) == chosen


@pytest.mark.slow
def test_all_columns_are_shown_in_full_until_the_user_chooses_another_width(
    qtbot, dialog: InspectionDialog
) -> None:
    # Its first size, which is cut to the display.
    dialog.resize(1180, 620)
    found, table = dialog.found, dialog.table
    parts = dialog.findChild(QSplitter)
    # Not by the user: that would fix the width.
    parts.setSizes([200, parts.width() - 200])
    assert found is not None
    wide = replace(found, values=found.values * 0 - 0.01234, target=found.target * 0 - 0.05678)
    dialog._show(wide)
    header = table.horizontalHeader()
    last = header.count() - 1
    qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
    assert header.sectionSize(last) >= header.sectionSizeHint(last)
    parts.moveSplitter(300, 1)
    narrow = table.width()
    dialog._show(replace(wide, env_steps=161))
    assert table.width() == narrow


@pytest.mark.slow
def test_another_batch_is_sorted_by_the_column_that_the_heading_says(
    qtbot, dialog: InspectionDialog
) -> None:
    dialog.table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    before = dialog.found
    dialog.draw.setValue(1)
    qtbot.waitUntil(lambda: dialog.found is not before, timeout=PATIENCE_MS)
    assert dialog.table.horizontalHeader().sortIndicatorSection() == 1
    rewards = column(dialog, "Reward")
    assert rewards == sorted(rewards)


@pytest.mark.slow
def test_the_plane_belongs_to_the_selected_state_and_the_chosen_actions(
    qtbot, dialog: InspectionDialog
) -> None:
    found = dialog.found
    assert found is not None
    dialog.table.selectRow(3)
    row = int(dialog.model.order[3])
    wanted = found.landscape(row, 0, 1).values
    shows = dialog.landscape.image
    qtbot.waitUntil(lambda: np.array_equal(shows.image, wanted), timeout=PATIENCE_MS)
    first, second = dialog.dims
    first.setCurrentIndex(1)
    first.activated.emit(1)
    # The same action twice is no plane: the other one gives way.
    assert second.currentIndex() == 0
    turned = found.landscape(row, 1, 0).values
    qtbot.waitUntil(lambda: np.array_equal(shows.image, turned), timeout=PATIENCE_MS)
    assert len(dialog.landscape.marks.points()) == 2


def test_the_bar_of_colours_is_labelled_as_the_axes_of_plots_are(
    qtbot, dialog: InspectionDialog
) -> None:
    axis = dialog.landscape.bar.axis
    assert axis.tickStrings([-20.0, 0.0, 20.0], 1.0, 20.0) == ["−20", "0", "20"]
    # The one that is seen, not only one that was made.
    assert axis.scene() is dialog.landscape.bar.scene()
    assert axis.range == list(dialog.landscape.bar.levels())


@pytest.mark.slow
def test_another_draw_shows_other_transitions(qtbot, dialog: InspectionDialog) -> None:
    before = column(dialog, "Step")
    dialog.count.setValue(20)
    qtbot.waitUntil(lambda: dialog.model.rowCount() == 20, timeout=PATIENCE_MS)
    first = column(dialog, "Step")
    dialog.draw.setValue(1)
    qtbot.waitUntil(lambda: column(dialog, "Step") != first, timeout=PATIENCE_MS)
    assert len(before) > 20


def test_an_agent_without_a_replay_buffer_says_so(qtbot, tmp_path: Path, agent: Path) -> None:
    alone = tmp_path / "checkpoints" / agent.name
    alone.parent.mkdir()
    alone.write_bytes(agent.read_bytes())
    made = InspectionDialog(alone, "my run")
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    qtbot.waitUntil(lambda: "cannot be read" in made.about.text(), timeout=PATIENCE_MS)
    made.reject()


def test_the_sentence_says_where_policy_and_largest_value_differ() -> None:
    plane = Landscape(
        dims=(0, 1),
        axis=np.linspace(-1, 1, 3, dtype=np.float32),
        values=np.zeros((3, 3), np.float32),
        policy=(0.25, -0.5),
        policy_value=11.7,
        best=(1.0, 0.0),
        best_value=12.4,
    )
    assert str(in_words(plane)) == (
        "The policy takes (0.25, −0.50), where Q₁ is 11.7. Its largest value here, 12.4, is at"
        " (1.00, 0.00): 0.7 more."
    )
