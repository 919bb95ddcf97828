"""A checkpoint from inside: a batch of its replay buffer, and its critic over two actions."""

from PySide6.QtWidgets import QTableView

from tests.pictures.patience import be_patient
from tests.walkthroughs.user import User


def walk(by: User) -> None:
    be_patient(by)
    by.fill("env_combo", "Reacher-v5")
    by.expect_text("env_facts", "2 actions")
    by.fill("steps_spin", "4 000")
    by.click("train_button")
    by.expect_state("finished")
    agents, index = by.row("checkpoint_list", "last")
    place = agents.visualRect(index).center()
    by.choose("Inspect a batch", lambda: by.right_click(agents, place))
    table = by.part("inspection_table", QTableView)
    by.expect("a batch is listed", lambda: table.model().rowCount() > 0)
    by.expect_text("inspection_sentence", "The policy takes")
    # Wide enough for all columns.
    by.part("inspection_dialog").resize(1180, 620)
    by.take("inspect", of="inspection_dialog")
