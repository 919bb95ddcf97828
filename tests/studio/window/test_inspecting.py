"""From the list of agents, or a point of a plot, to the checkpoint of that moment."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from studio.inspection.dialog import InspectionDialog
from studio.window.inspecting import Inspecting
from studio.window.main_window import MainWindow
from td3core.runs.layout import CHECKPOINTS
from tests.studio.fake_runs import make_run
from tests.td3core.helpers import finish

PATIENCE_MS = 60_000


def dialogs(window: MainWindow) -> list[InspectionDialog]:
    return [each for each in window.findChildren(InspectionDialog) if each.isVisible()]


@pytest.mark.slow
def test_a_plot_offers_the_checkpoint_nearest_to_a_point(
    qtbot, window: MainWindow, runs_dir: Path
) -> None:
    values = {"steps": 160, "learning_starts": 40, "batch_size": 16}
    run = finish(runs_dir, "Reacher-v5", **values, checkpoint_interval=50).run
    window.presenter.open_path(run)
    agents = window.replay.checkpoints
    qtbot.waitUntil(lambda: len(agents.model.current_files() or ()) >= 4, timeout=PATIENCE_MS)
    card, offered = window.plots.card("plot_return"), window.findChild(Inspecting).nearest
    qtbot.waitUntil(lambda: offered(104.0) is not None, timeout=PATIENCE_MS)
    step, path = offered(104.0)
    assert (step, path.name) == (100, "step_000000100.safetensors")
    assert offered(0.0)[0] == 50
    # In its menu it is named with its step, and opens the dialog of that file.
    place = card.plot.mapFromScene(card.plot.getViewBox().mapViewToScene(QPoint(100, 0)))
    card.plot.customContextMenuRequested.emit(QPoint(place.x(), card.plot.height() // 2))
    menu = card.findChild(QMenu, "plot_return_menu")
    action = menu.findChild(QAction, "plot_return_inspect_action")
    assert action.text() == "Inspect the checkpoint at step 100…"
    action.trigger()
    menu.close()
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1, timeout=PATIENCE_MS)
    (dialog,) = dialogs(window)
    qtbot.waitUntil(lambda: dialog.found is not None, timeout=PATIENCE_MS)
    assert dialog.found.env_steps == 100
    # The list of agents leads to the same place.
    agents.branch_action.setData(run / "checkpoints" / "step_000000050.safetensors")
    agents.inspect_action.trigger()
    qtbot.waitUntil(
        lambda: any(each.found and each.found.env_steps == 50 for each in dialogs(window)),
        timeout=PATIENCE_MS,
    )
    for each in dialogs(window):
        each.reject()


@pytest.mark.slow
def test_a_checkpoint_of_another_run_is_titled_with_the_name_of_that_run(
    qtbot, window: MainWindow, runs_dir: Path
) -> None:
    other = make_run(runs_dir, name="mine").path
    window.findChild(Inspecting).show(other / CHECKPOINTS / "best.safetensors")
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1)
    (dialog,) = dialogs(window)
    assert dialog.heading.text() == "best.safetensors of Pendulum-v1 · mine"
    dialog.reject()
