"""The process in which the window is used as a module says; started by the runner."""

import os
import sys
import traceback
from functools import partial
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from studio import app
from studio.window.main_window import MainWindow
from tests.walkthroughs.user import NotSeenError, User

_CLOSING_MS = 15_000


def _walk(module: str, by: User, problems: list[str]) -> None:
    try:
        import_module(module).walk(by)
    except NotSeenError as problem:
        problems.append(f"{module} did not see that {problem}")
    except Exception:
        problems.append(traceback.format_exc())
    if problems and by.window.isVisible():
        by.take("failed")
    for top in QApplication.topLevelWidgets():
        if top is not by.window and top.isVisible():
            top.close()
    assert isinstance(by.window, MainWindow)
    if by.window.isVisible():
        by.window.save_and_close()
    # What a failure left open must not keep the process alive.
    QTimer.singleShot(_CLOSING_MS, partial(os._exit, 1))


def main() -> int:
    module, folder, theme, size, home = sys.argv[1:]
    name = f"{module.rpartition('.')[2]}_{theme}_{size}"
    width, height = map(int, size.split("x"))
    problems = list[str]()
    build = app.build_window
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, f"{home}/settings")
    ini = QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    settings = QSettings(*ini)
    settings.setValue("theme", theme)
    settings.sync()

    def build_here(runs_dir: Path) -> MainWindow:
        window = build(runs_dir)
        # Once it is there, as a user would, so that the replay takes its share.
        QTimer.singleShot(100, partial(window.resize, width, height))
        by = User(window, Path(folder), name, Path(home))
        QTimer.singleShot(500, partial(_walk, module, by, problems))
        return window

    app.build_window = build_here
    status = app.run(Path(home) / "runs")
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else status


if __name__ == "__main__":
    raise SystemExit(main())
