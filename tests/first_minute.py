"""Films the first minute of a new user: from a click on *Train your first agent* until it walks.

    python tests/first_minute.py [FILE.webp] [SEED]

Nothing is staged and nothing cut: a picture of the window every fifth of a second, at the time
at which it was taken. The film ends when the newest agent, once one has solved the environment,
has walked for some seconds. Prints each evaluation, and the seconds since the click.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from td3core.system import numerics  # noqa: E402

# As the studio does it, before NumPy is loaded.
numerics.pin()

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from PySide6.QtCore import QSettings, QSize, Qt  # noqa: E402
from PySide6.QtGui import QImage  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from studio.app import SWITCH_INTERVAL_S, build_window  # noqa: E402
from studio.session.controller import SessionState  # noqa: E402
from studio.session.worker import load_engine_in_background  # noqa: E402
from td3core.exporters.film.writer import FilmWriter  # noqa: E402
from td3core.protocol.events import Evaluated  # noqa: E402
from tests.pictures.patience import episode_step  # noqa: E402
from tests.walkthroughs.user import User  # noqa: E402

FPS, SIZE, SHOWN = 5, (1280, 800), QSize(832, 520)
WALKED, PATIENCE_S = 150, 300.0
"""Steps of the episode that ends the film (3 s), and the longest film."""


def pixels(window: QImage) -> NDArray[np.uint8]:
    """Return an image (height, width, 3) of the size of the film."""
    smooth = Qt.TransformationMode.SmoothTransformation
    image = window.scaled(SHOWN, Qt.AspectRatioMode.IgnoreAspectRatio, smooth)
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    # The image, which owns this memory, ends here.
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def newest_walks(by: User, since: int) -> bool:
    """Return whether the newest agent, of this step of the run or later, has walked for a while."""
    role, _, step = by.text("replay_title").rpartition("step ")
    return "newest" in role and int(step.replace(",", "")) >= since and episode_step(by) > WALKED


def film(by: User, target: Path, seed: int) -> None:
    """Train with the preset of the start page, and film the window meanwhile."""
    window, solved = by.window, dict[int, float]()
    by.part("seed_spin").setValue(seed)
    by.wait(1_000)
    # Encoded afterwards, to take no time from the filmed window.
    pictures = [pixels(window.grab().toImage())]
    began = time.monotonic()

    def note(event: object) -> None:
        if isinstance(event, Evaluated):
            seconds = time.monotonic() - began
            sys.stderr.write(f"{event.env_steps:>8,} {event.mean:8.1f} {seconds:6.1f} s\n")
            threshold = window.model.record.reward_threshold
            if threshold is not None and event.mean >= threshold and not solved:
                solved[event.env_steps] = seconds

    window.model.evaluated.connect(note)
    by.click("start_train_button")
    while not (solved and newest_walks(by, min(solved))):
        if time.monotonic() > began + PATIENCE_S:
            raise SystemExit("It did not walk.")
        by.wait(max(1, round(1000 * (began + len(pictures) / FPS - time.monotonic()))))
        late = round((time.monotonic() - began) * FPS) - len(pictures) + 1
        # A late picture replaces the ones that were missed.
        pictures += [pixels(window.grab().toImage())] * max(1, late)
    by.click("stop_button")
    with FilmWriter(target, FPS) as writer:
        for picture in pictures:
            writer.write(picture)
    megabytes = target.stat().st_size / 1e6
    sys.stderr.write(f"{target}: solved after {min(solved.values()):.1f} s, {megabytes:.1f} MB\n")


def main() -> None:
    default = ROOT / "resources" / "pictures" / "first_minute.webp"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    app = QApplication([])
    with tempfile.TemporaryDirectory(prefix="td3-studio-film-") as made:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, made)
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        # As in the studio, before the click.
        load_engine_in_background().join()
        window = build_window(Path(made) / "runs")
        window.resize(*SIZE)
        window.show()
        by = User(window, target.parent, target.stem, Path(made))
        film(by, target, seed)
        window.save_and_close()
        by.expect("all is saved", lambda: window.controller.state is SessionState.IDLE)
    app.quit()


if __name__ == "__main__":
    main()
