"""A group that trains while a group and a run wait in the queue."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTreeView, QTreeWidget

from tests.pictures.patience import be_patient
from tests.walkthroughs.user import User

_SEEDS = 4


def walk(by: User) -> None:
    be_patient(by)
    by.fill("env_combo", "Pendulum-v1")
    by.expect_text("env_facts", "3 observations · 1 action")
    by.fill("steps_spin", "9 000")
    by.click_text("Advanced")
    by.fill("field_eval_interval", "500")
    by.click_text("Advanced")
    by.fill("seeds_edit", str(_SEEDS))
    by.click("train_button")
    by.click("queue_button")
    by.fill("env_combo", "BipedalWalker-v3")
    by.expect_text("env_facts", "24 observations")
    by.fill("seeds_edit", "")
    by.click("queue_button")
    by.expect("one run has ended, and the last one is half-way", lambda: in_the_middle(by))
    by.click("group_compare_button")
    table = by.part("compare_table", QTreeWidget)
    by.expect("each has a return", lambda: returns(table) == _SEEDS)
    by.take("group")
    by.click("stop_button")


def in_the_middle(by: User) -> bool:
    model = by.part("group_view", QTreeView).model()
    if model.rowCount() < _SEEDS:
        return False
    titles = range(model.columnCount())
    names = [str(model.headerData(at, Qt.Orientation.Horizontal)) for at in titles]
    state, step = names.index("State"), names.index("Step")
    rows = range(_SEEDS)
    finished = any(model.index(row, state).data() == "finished" for row in rows)
    reached = str(model.index(_SEEDS - 1, step).data() or "0").replace(",", "")
    return finished and 4500 < int(reached) < 8000


def returns(table: QTreeWidget) -> int:
    """Return how many runs of the first group in a comparison have a final return."""
    group = table.topLevelItem(0)
    if group is None:
        return 0
    rows = (group.child(at) for at in range(group.childCount()))
    return sum(any(map(str.isdigit, row.text(2))) for row in rows)
