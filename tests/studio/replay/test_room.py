"""The picture uses the available space, also on a display with twice the pixels."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QEventLoop, QSettings, QSize, Qt, QTimer
from PySide6.QtWidgets import QApplication

from tests.support.marks import release, slow

SIZES = ((1024, 700), (1280, 800), (2560, 1440))
ASPECT = QSize(600, 400)
PATIENCE_MS = 20_000


def look(folder: Path) -> None:
    """Show the walker in windows of several sizes; print how much of them its picture takes."""
    # Imported late: the scale has to be set before.
    from studio.app import build_window
    from tests.studio.replay.test_timeline import WALKER

    app = QApplication([])
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(folder))
    window = build_window(folder / "runs")
    window.show()
    pane = window.replay
    pane.choose(WALKER)
    for width, height in SIZES:
        window.resize(width, height)
        for large in (False, True):
            if large:
                window.stage.toggle_large()
            ratio = window.devicePixelRatioF()
            drawn = until_drawn(pane)
            share = drawn.width() * drawn.height() / ratio**2 / (width * height)
            print(ratio, width, height, "large" if large else "dock", f"{share:.3f}", flush=True)
        window.stage.toggle_large()
    window.close()
    app.processEvents()


def until_drawn(pane: object) -> QSize:
    """Wait until the picture is as large as fits into the view, pixel by pixel."""
    loop, look_again = QEventLoop(), QTimer()
    QTimer.singleShot(PATIENCE_MS, lambda: loop.exit(1))

    def fits() -> bool:
        view = pane.view
        room = view.size() * view.devicePixelRatioF()
        wanted = ASPECT.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)
        return view.image is not None and view.image.size() == wanted and view.width() > 100

    settled = [0]

    def check() -> None:
        settled[0] = settled[0] + 1 if fits() else 0
        if settled[0] > 10:
            loop.exit(0)

    look_again.timeout.connect(check)
    look_again.start(20)
    if loop.exec():
        raise TimeoutError(f"{pane.view.size()} shows {pane.view.image}")
    return pane.view.image.size()


@pytest.mark.parametrize("scale", [*release("1"), *slow("2")])
def test_the_picture_is_as_large_as_fits_into_any_window_in_the_pixels_of_the_display(
    tmp_path: Path, scale: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.studio.replay.test_room", str(tmp_path)],
        env=os.environ | {"QT_SCALE_FACTOR": scale, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [line.split() for line in done.stdout.splitlines()]
    assert [row[:3] for row in found[::2]] == [[f"{scale}.0", str(w), str(h)] for w, h in SIZES]
    large = [float(row[4]) for row in found if row[3] == "large"]
    assert min(large) > 0.28
    assert large == sorted(large)


if __name__ == "__main__":
    look(Path(sys.argv[1]))
