"""Windows that leave nothing behind, and no trace in the user's own settings."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.app import build_window
from studio.run_browser.browser import RunBrowser
from studio.session.controller import SessionState
from studio.theme.theme import load_theme
from studio.window.main_window import MainWindow


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path) -> None:
    QSettings.setPath(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path / "settings")
    )
    # Every run that trains in a window would start a renderer.
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    settings.setValue("replay/follow_latest", False)


@pytest.fixture(autouse=True)
def _no_widget_outlives_its_test(own_settings: None) -> Iterator[None]:
    """Delete what is to be deleted.

    Qt does that in an event loop only. Until then it would all be styled again with every later
    window, and building one would take ten times as long.
    """
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def window(qtbot, tmp_path: Path) -> Iterator[MainWindow]:
    """The whole window, shown, over an empty runs folder."""
    # Not given to qtbot: that would close it, and so ask about its run, before the run is ended.
    window = build_window(tmp_path / "runs")
    # The offscreen display is smaller than the usual window.
    window.resize(1280, 800)
    window.show()
    yield window
    if window.controller.state is not SessionState.IDLE:
        window.controller.stop()
        qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=30_000)
    window.close()
    window.deleteLater()


@pytest.fixture
def find(window: MainWindow) -> Callable[[str], QWidget]:
    """Return a widget of the window by its object name, as a script would."""

    def look(name: str) -> QWidget:
        found = window.findChild(QWidget, name)
        assert found is not None, f"the window has no {name}"
        return found

    return look


@pytest.fixture
def browser_size() -> tuple[int, int]:
    """Return the size of the list; a module may have another."""
    return 1300, 400


@pytest.fixture
def browser(qtbot, runs_dir: Path, browser_size: tuple[int, int]) -> Iterator[RunBrowser]:
    """The list of runs alone, shown, over a folder that may not exist yet."""
    made = RunBrowser(runs_dir, load_theme("light"))
    qtbot.addWidget(made)
    made.resize(*browser_size)
    made.show()
    yield made
    made.shutdown()


@pytest.fixture(autouse=True)
def _short_runs_are_meant(monkeypatch) -> None:
    """Most runs of tests end before they learn, on purpose."""
    monkeypatch.setattr("studio.window.start_request.choose", lambda *_args: "accept")


@pytest.fixture(autouse=True)
def _no_question_waits(monkeypatch) -> None:
    """Fail, rather than wait for an answer that will not come; a test may answer instead."""

    def refuse(box: QMessageBox) -> int:
        pytest.fail(f"nobody answers: {box.text()}")

    monkeypatch.setattr(QMessageBox, "exec", refuse)
