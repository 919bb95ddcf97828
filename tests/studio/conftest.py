"""Windows that leave nothing behind, and no trace in the user's own settings."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from studio.app import build_window
from studio.run_browser.browser import RunBrowser
from studio.session.controller import SessionState
from studio.setup.env_query import EnvQuery
from studio.theme.theme import load_theme
from studio.window.main_window import MainWindow
from tests.studio.renewed import SIZE, Renewal
from tests.support.parts import part_of


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
    """Carry out deferred deletions.

    Qt does that only in an event loop. Until then all of it would be styled again with every later
    window, and building one would take ten times as long.
    """
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@contextmanager
def _opened_window(runs_dir: Path) -> Iterator[MainWindow]:
    # Not given to qtbot: that would close it, and so ask about its run, before the run is ended.
    window = build_window(runs_dir)
    window.resize(*SIZE)
    window.show()
    yield window
    window.close()
    window.deleteLater()


class SharedWindow:
    """One window for all tests that can share it, never together with another one.

    Every style sheet that is set or taken off styles all windows there are: a second one would
    take several times as long to build.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._renew: Renewal | None = None
        self.window: MainWindow | None = None

    def open(self, qtbot: QtBot, folder: Path, new_folder: Callable[[str], Path]) -> MainWindow:
        """Return the window as a new one is; the test keeps its own settings in ``folder``."""
        if self.window is None:
            before, shared = set(threading.enumerate()), new_folder("shared")
            keep_settings_in(shared)
            self.window = self._stack.enter_context(_opened_window(shared / "runs"))
            self._renew = Renewal(self.window)
            keep_settings_in(folder)
            # Its background reads belong to no test.
            qtbot.waitUntil(lambda: set(threading.enumerate()) <= before, timeout=20_000)
        assert self._renew is not None
        self._renew(qtbot)
        return self.window

    def close(self) -> None:
        """Close the window, if there is one."""
        if self.window is not None:
            self.window = self._renew = None
            self._stack.close()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


_shared = SharedWindow()


def _shares(item: pytest.Item) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    return (
        "shared_window" in marks
        and "own_window" not in marks
        and "window" in getattr(item, "fixturenames", ())
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that share the window after all others of the studio: it is built once then."""
    here = Path(__file__).parent
    last = max((i for i, item in enumerate(items) if here in item.path.parents), default=0)
    order = {id(item): (i > last, _shares(item)) for i, item in enumerate(items)}
    items.sort(key=lambda item: order[id(item)])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the window before the first test that does not share it."""
    yield
    if nextitem is None or not _shares(nextitem):
        _shared.close()


@pytest.fixture
def window(
    request: pytest.FixtureRequest,
    qtbot: QtBot,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[MainWindow]:
    """The whole window, shown, over an empty runs folder.

    Building it takes longer than most tests: those marked ``shared_window`` share one, even across
    modules, unless they are marked ``own_window`` as well. It is renewed for each of them.
    """
    if _shares(request.node):
        window = _shared.open(qtbot, tmp_path, tmp_path_factory.mktemp)
        yield window
        # Leaving the environment's field looks it up, which may take long on a busy machine.
        queries = window.findChildren(EnvQuery)
        qtbot.waitUntil(lambda: not any(query.busy for query in queries), timeout=20_000)
        return
    _shared.close()
    with _opened_window(tmp_path / "runs") as window:
        yield window
        if window.controller.state is not SessionState.IDLE:
            window.controller.stop()
            idle = SessionState.IDLE
            qtbot.waitUntil(lambda: window.controller.state is idle, timeout=30_000)


@pytest.fixture
def runs_dir(request, tmp_path: Path) -> Path:
    """Return the folder of the runs listed by a test's window; empty so far."""
    if _shares(request.node):
        return request.getfixturevalue("window").runs_dir
    return tmp_path / "runs"


@pytest.fixture
def find(window: MainWindow) -> Callable[[str], QWidget]:
    """Return a widget of the window by its object name, as a script would."""

    def look(name: str) -> QWidget:
        found = part_of(window, name)
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
