"""How long a new user waits for a walker, in the window.

    .venv/bin/python tests/benchmarks/first_walk.py SEED... --runs-dir DIR [--until-solved]

For each seed: a window of 1280x800 without a screen, a click on *Train your first agent*, and
nothing else until the run has finished, or until it is solved. Prints the seconds from the click
to the first evaluation that solves the environment, and to the end of the run, with what the
process spent on the processors. The runs stay in a folder for each seed in DIR: ``proven.py add
RUN...`` measures them. As in the studio, torch is loaded before the click; the first seed of a
process loads the compiled update after it.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from td3core.system import numerics  # noqa: E402

# As the studio does it, before NumPy is loaded.
numerics.pin()

from PySide6.QtCore import QSettings  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from studio.app import SWITCH_INTERVAL_S, build_window  # noqa: E402
from studio.session.controller import SessionState  # noqa: E402
from studio.session.worker import load_engine_in_background  # noqa: E402
from td3core.protocol.events import Ended, Evaluated, Started  # noqa: E402
from tests.walkthroughs.user import User  # noqa: E402

PATIENCE_S = 900.0


class Clock:
    """Wall and processor seconds since a click."""

    def __init__(self) -> None:
        self._wall, self._processor = time.monotonic(), time.process_time()

    def __str__(self) -> str:
        wall, spent = time.monotonic() - self._wall, time.process_time() - self._processor
        return f"{wall:6.1f} s ({spent:.1f} s of processors)"


def watch(by: User, seed: int, *, until_solved: bool) -> None:
    """Train the start page's agent with a seed, and print what came when."""
    model, controller = by.window.model, by.window.controller
    solved, ended = list[str](), list[Ended]()
    by.part("seed_spin").setValue(seed)
    by.wait(1_000)
    clock = Clock()

    def note(event: object) -> None:
        if isinstance(event, Started):
            print(f"seed {seed}: began after {clock}", flush=True)
        if isinstance(event, Evaluated):
            threshold = model.record.reward_threshold
            print(f"{event.env_steps:>8,} {event.mean:8.1f} {clock}", file=sys.stderr, flush=True)
            if threshold is not None and event.mean >= threshold and not solved:
                solved.append(f"step {event.env_steps:,}, {clock}")
        if isinstance(event, Ended):
            ended.append(event)
            found = solved[0] if solved else "never"
            print(f"seed {seed}: solved at {found}; ended after {clock}", flush=True)

    controller.event_reported.connect(note)
    by.click("start_train_button")
    give_up = time.monotonic() + PATIENCE_S
    while not ended and time.monotonic() < give_up:
        by.wait(100)
        if until_solved and solved:
            by.click("stop_button")
            by.expect("the run has ended", lambda: ended)
    by.window.save_and_close()
    by.expect("all is saved", lambda: controller.state is SessionState.IDLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seeds", type=int, nargs="+", metavar="SEED")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--until-solved", action="store_true")
    options = parser.parse_args()
    app = QApplication([])
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    load_engine_in_background().join()
    for seed in options.seeds:
        with tempfile.TemporaryDirectory(prefix="td3-studio-walk-") as made:
            QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, made)
            window = build_window(options.runs_dir / f"seed_{seed}")
            window.resize(1280, 800)
            window.show()
            by = User(window, Path(made), "walk", Path(made))
            watch(by, seed, until_solved=options.until_solved)
    app.quit()


if __name__ == "__main__":
    main()
