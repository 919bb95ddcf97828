"""Windows that leave nothing behind, and no trace in the user's own settings."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from studio.app import build_window
from studio.run_browser.browser import RunBrowser
from studio.session.controller import SessionState
from studio.theme.theme import load_theme
from studio.window.main_window import MainWindow


def keep_settings_in(folder: Path) -> None:
    QSettings.setPath(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(folder / "settings")
    )
    # Every run that trains in a window would start a renderer.
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    settings.setValue("replay/follow_latest", False)


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path) -> None:
    keep_settings_in(tmp_path)


@pytest.fixture(autouse=True)
def _no_widget_outlives_its_test(own_settings: None) -> Iterator[None]:
    """Delete what is to be deleted.

    Qt does that in an event loop only. Until then it would all be styled again with every later
    window, and building one would take ten times as long.
    """
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@contextmanager
def _opened_window(runs_dir: Path) -> Iterator[MainWindow]:
    # Not given to qtbot: that would close it, and so ask about its run, before the run is ended.
    window = build_window(runs_dir)
    # The offscreen display is smaller than the usual window.
    window.resize(1280, 800)
    window.show()
    yield window
    window.close()
    window.deleteLater()


@pytest.fixture
def window(request, qtbot, tmp_path: Path) -> Iterator[MainWindow]:
    """The whole window, shown, over an empty runs folder.

    Building it takes longer than most tests: those that are marked ``shared_window`` share one
    with others of their module, unless they are marked ``own_window`` as well.
    """
    marks = {mark.name for mark in request.node.iter_markers()}
    if "shared_window" in marks and "own_window" not in marks:
        shared = request.getfixturevalue("_shared_window")
        # Another one may have been in front meanwhile.
        shared.activateWindow()
        yield shared
        return
    with _opened_window(tmp_path / "runs") as window:
        yield window
        if window.controller.state is not SessionState.IDLE:
            window.controller.stop()
            idle = SessionState.IDLE
            qtbot.waitUntil(lambda: window.controller.state is idle, timeout=30_000)


@pytest.fixture(scope="module")
def _shared_window(
    qapp: QApplication, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MainWindow]:
    folder = tmp_path_factory.mktemp("shared")
    keep_settings_in(folder)
    with _opened_window(folder / "runs") as window:
        yield window


@pytest.fixture(scope="module", autouse=True)
def _shared_window_comes_first(request) -> None:
    """Make it before a test notes which threads there are: it reads in the background."""
    if request.node.get_closest_marker("shared_window"):
        request.getfixturevalue("_shared_window")


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
