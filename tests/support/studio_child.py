"""The window in a process of its own: opens, and trains Pendulum-v1 until it is ended."""

import sys
from pathlib import Path

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QAbstractButton

from studio import app
from studio.window.main_window import MainWindow


def main() -> int:
    home = Path(sys.argv[1])
    build = app.build_window
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(home / "settings"))

    def build_and_train(runs_dir: Path) -> MainWindow:
        window = build(runs_dir)
        window.setup.show_usual("Pendulum-v1")
        button = window.findChild(QAbstractButton, "train_button")
        assert button is not None
        QTimer.singleShot(500, button.click)
        return window

    app.build_window = build_and_train
    return app.run(home / "runs")


if __name__ == "__main__":
    raise SystemExit(main())
