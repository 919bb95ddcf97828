"""Helpers for tests of the list of runs: read again, read as shown, select, act."""

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction

from studio.run_browser.browser import RunBrowser
from studio.run_browser.columns import RunColumn
from td3core.runs.directory import RunDirectory
from tests.studio.window.test_main_job import click

DISPLAY = Qt.ItemDataRole.DisplayRole


def read_again(qtbot, browser: RunBrowser) -> None:
    """Scan the folder again, and wait until all of it is listed."""
    browser.refresh()
    wait_until_read(qtbot, browser)


def wait_until_read(qtbot, browser: RunBrowser) -> None:
    """Wait until all of the folder is listed."""
    qtbot.waitUntil(lambda: not browser.reading, timeout=20_000)


def listed(browser: RunBrowser, column: RunColumn = RunColumn.RUN) -> list[str]:
    """Return a column as shown, top to bottom, branches indented by two spaces."""

    def below(parent: QModelIndex, depth: int) -> list[str]:
        found = []
        for number in range(browser.proxy.rowCount(parent)):
            cell = browser.proxy.index(number, column, parent)
            found.append("  " * depth + str(cell.data(DISPLAY)))
            found += below(browser.proxy.index(number, 0, parent), depth + 1)
        return found

    return below(QModelIndex(), 0)


def choose(browser: RunBrowser, *runs: RunDirectory) -> None:
    browser.view.choose([run.path for run in runs], runs[-1].path)


def action(browser: RunBrowser, name: str) -> QAction:
    found = browser.findChild(QAction, f"runs_{name}")
    assert found is not None
    return found


def show_runs(qtbot, window, find, *runs: RunDirectory) -> None:
    click(qtbot, find("runs_button"))
    qtbot.waitUntil(lambda: all(run.path in window.runs.model.rows for run in runs))
    choose(window.runs, runs[0])
