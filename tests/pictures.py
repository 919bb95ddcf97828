"""Takes the pictures of the README anew: trains, tunes, kills, resumes and branches in the window.

    python tests/pictures.py [FOLDER]

takes about three minutes and writes start, light, dark, journal, algorithm, resume, branch, group,
compare_agents and health.png, each 1280 by 800.
Nothing is staged: every curve comes from a training that went on meanwhile.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

from td3core.system import numerics  # noqa: E402

# As the studio does it, before NumPy is loaded.
numerics.pin()

from PySide6.QtCore import QEventLoop, QPointF, QSettings, QTimer  # noqa: E402
from PySide6.QtWidgets import QApplication, QDialog, QWidget  # noqa: E402

from studio.app import SWITCH_INTERVAL_S, build_window  # noqa: E402
from studio.replay.player import PlayerState  # noqa: E402
from studio.session.controller import SessionState  # noqa: E402
from studio.window.main_window import MainWindow  # noqa: E402
from td3core.experiments.groups.seed_status import SeedState  # noqa: E402
from td3core.playing.compared import ComparedAgent  # noqa: E402
from td3core.playing.disturbance import Variant  # noqa: E402
from td3core.runs.layout import step_checkpoint  # noqa: E402
from tests.support.parts import part_of  # noqa: E402

ENV = "Pendulum-v1"
PATIENCE_S = 180
SETTLED_MS = 400


class Photographer:
    """Uses the window as a person would, and takes pictures of it."""

    def __init__(self, window: MainWindow, folder: Path) -> None:
        self.window, self._folder = window, folder

    def wait(self, milliseconds: int) -> None:
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def until(self, happened: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not happened():
            if time.monotonic() > end:
                raise TimeoutError("What the next picture shows did not come about.")
            self.wait(20)

    def find(self, name: str) -> QWidget:
        found = part_of(self.window, name)
        assert found is not None, name
        return found

    def click(self, name: str) -> None:
        self.find(name).click()

    def step(self) -> int:
        now = self.window.model.record.progress
        return now.env_steps if now is not None and self.window.controller.busy else 0

    def reach(self, step: int) -> None:
        self.until(lambda: self.step() >= step)

    def wear(self, theme: str) -> None:
        if self.window.theme.name != theme:
            self.window.switch_theme()

    def point_at(self, step: float) -> None:
        """Hold the mouse over a step."""
        card = self.window.plots.card("plot_return")
        card.hovered.emit(QPointF(step, 0.0))

    def look_away(self) -> None:
        self.window.plots.card("plot_return").hovered.emit(None)

    def take(self, name: str) -> None:
        self.wait(SETTLED_MS)
        path = self._folder / f"{name}.png"
        self.window.grab().save(str(path))
        sys.stderr.write(f"{path} {path.stat().st_size / 1000:.0f} kB\n")

    def idle(self) -> None:
        self.until(lambda: self.window.controller.state is SessionState.IDLE)


def cut_short(runs: Path, seed: int, at: int) -> Path:
    """Train next to the window, and kill the process at a checkpoint."""
    words = ["train", ENV, "--seed", str(seed), "--runs-dir", str(runs)]
    options = [
        "--steps",
        "12000",
        "--set",
        "checkpoint_interval=1000",
        "--set",
        "eval_interval=1000",
    ]
    before = set(runs.glob("*"))
    with subprocess.Popen(
        [sys.executable, "-m", "td3core", *words, *options], cwd=ROOT, stderr=subprocess.DEVNULL
    ) as process:
        end = time.monotonic() + PATIENCE_S
        made: list[Path] = []
        while not made or not step_checkpoint(made[0], at).exists():
            if time.monotonic() > end or process.poll() is not None:
                raise TimeoutError("The run that was to be cut short did not come that far.")
            time.sleep(0.02)
            made = [path for path in runs.glob("*") if path not in before]
        process.kill()
    return made[0]


def first_start(made: Path, folder: Path) -> None:
    """Open a window for the first time."""
    window = build_window(made / "none")
    window.resize(1280, 800)
    window.show()
    by = Photographer(window, folder)
    play_the_walker(by)
    by.wait(2_000)
    by.take("start")
    window.save_and_close()
    window.deleteLater()
    by.wait(SETTLED_MS)


def play_the_walker(by: Photographer) -> None:
    """Let the bundled walker walk for some seconds."""
    pane = by.window.replay
    agents = files("resources") / "agents"
    with as_file(agents / "BipedalWalker-v3.safetensors") as walker:
        pane.checkpoints.select(walker)
        pane.checkpoints.checkpoint_activated.emit(walker)
    by.until(lambda: pane.view.image is not None)


def train_and_tune(by: Photographer) -> Path:
    """Take the first pictures of a run that learns while its settings are changed."""
    window = by.window
    by.find("env_combo").setCurrentText(ENV)
    by.find("steps_spin").setValue(12_000)
    by.find("field_eval_interval").setValue(1000)
    by.find("field_checkpoint_interval").setValue(2000)
    play_the_walker(by)
    by.click("train_button")
    by.reach(4_000)
    by.find("spin_tau").setValue(0.01)
    by.reach(5_500)
    by.find("spin_exploration_noise").setValue(0.2)
    by.reach(6_500)
    by.wear("dark")
    by.reach(8_500)
    by.take("dark")
    by.wear("light")
    by.click("pause_button")
    by.until(lambda: window.controller.state is SessionState.PAUSED)
    by.point_at(window.model.record.journal.markers[0].env_steps)
    by.take("journal")
    by.look_away()
    step_through(by)
    by.click("pause_button")
    by.idle()
    by.take("light")
    assert window.model.record.run is not None
    return window.model.record.run


def step_through(by: Photographer) -> None:
    """Do single updates of the paused run until one has moved all networks."""
    docks = by.window.docks
    docks.open("algorithm")
    panel = by.window.panels.named("algorithm")
    moved = False
    while not moved:
        before = panel.seen
        by.click("algorithm_step_button")
        by.until(lambda before=before: panel.seen is not before)
        moved = panel.seen.moved_actor
    by.take("algorithm")
    docks.close("algorithm")


def resume(by: Photographer, run: Path) -> None:
    """Resume a run that was cut short, as the message about it proposes."""
    window = by.window
    window.runs.refresh()
    by.until(lambda: len(window.runs.model.interrupted()) == 2)
    window.banner.link_activated.emit("runs")
    window.runs.view.choose([run.absolute()], run.absolute())
    window.runs.run_actions.resume_requested.emit(run)
    by.until(lambda: window.controller.state is SessionState.RUNNING)
    by.reach(9_500)
    by.point_at(
        next(
            each.env_steps for each in window.model.record.journal.entries if each.event == "resume"
        )
    )
    by.take("resume")
    by.look_away()
    by.click("stop_button")
    by.idle()


def branch(by: Photographer, run: Path) -> None:
    """Branch from a checkpoint half-way."""
    window = by.window
    by.wear("dark")
    window.launcher.branch_with_half_rates(step_checkpoint(run, 6_000))
    by.until(
        lambda: window.controller.state is SessionState.RUNNING and window.model.record.run != run
    )
    by.reach(9_500)
    by.click("stop_button")
    by.idle()
    window.runs.refresh()
    assert window.model.record.run is not None
    started = window.model.record.run.absolute()
    by.until(lambda: window.runs.proxy.find(started).isValid())
    window.runs.view.choose([started], started)
    window.runs.view.scrollTo(window.runs.proxy.find(started))
    by.take("branch")


def group(by: Photographer) -> None:
    """Train a group of seeds, whose curves open by themselves, and let two runs wait."""
    window = by.window
    by.wear("light")
    by.find("env_combo").setCurrentText(ENV)
    by.find("steps_spin").setValue(9000)
    by.find("field_eval_interval").setValue(500)
    by.find("seeds_edit").setText("4")
    by.click("train_button")
    panel = window.panels.named("many")

    def in_the_middle() -> bool:
        states = [status.state for status in panel.model.statuses]
        steps = [status.env_steps for status in panel.model.statuses]
        return states.count(SeedState.FINISHED) >= 1 and 1500 < steps[-1] < 9000

    by.until(in_the_middle)
    by.click("queue_button")
    by.find("env_combo").setCurrentText("BipedalWalker-v3")
    by.find("seeds_edit").clear()
    by.click("queue_button")

    def all_drawn() -> bool:
        lines = window.comparison.session.shown.lines["return"]
        return len(lines) > len(panel.model.statuses) and all(len(line.curve.x) for line in lines)

    by.until(all_drawn)
    by.take("group")
    window.many.stop_all()
    by.until(lambda: not window.many.busy)


def compare_agents(by: Photographer) -> None:
    """Let three agents of the walker play side by side."""
    window, pane = by.window, by.window.replay
    walker = Path(str(files("resources") / "agents" / "BipedalWalker-v3.safetensors"))
    earlier = sorted(walker.with_suffix("").glob("step_*.safetensors"))
    window.stage.toggle_large()
    pane.choose(walker)
    varied = [ComparedAgent(walker, variant) for variant in (Variant.NOISE, Variant.PUSH)]
    pane.comparison.compare([ComparedAgent(walker), ComparedAgent(earlier[2]), *varied])
    view = pane.comparison.view
    by.until(lambda: pane.comparison.on_show and view.title.text().startswith("step"))
    pane.player.play()
    by.until(lambda: int(view.title.text().split()[1]) > 150)
    by.take("compare_agents")
    pane.player.pause()
    pane.comparison.close()
    window.stage.toggle_large()
    by.until(lambda: not pane.comparison.active)


def health(by: Photographer) -> None:
    """Train with truly broken settings, and try the advice."""
    window = by.window
    window.comparison.session.close()
    by.find("env_combo").setCurrentText(ENV)
    by.find("seeds_edit").clear()
    by.find("seed_spin").setValue(203)
    by.find("steps_spin").setValue(4_000)
    by.find("spin_tau").setValue(1.0)
    by.click("train_button")
    by.until(lambda: window.controller.busy)
    by.idle()
    window.docks.open("health")
    (advice,) = [each for each in window.health.board.advice if each.rule.name == "target_missing"]
    window.health.ask(advice)
    by.until(lambda: window.findChild(QDialog, "trial_dialog"))
    by.find("trial_steps").setValue(2_500)
    by.find("trial_pairs").setValue(3)
    by.click("trial_begin")
    by.until(lambda: window.health.paired_tests.verdict is not None)
    shown = window.comparison.session
    by.until(lambda: shown.active and not shown.busy)
    # The newest agent, which it follows.
    by.until(lambda: window.replay.player.state is PlayerState.PAUSED)
    by.take("health")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "resources" / "pictures"
    app = QApplication([])
    with tempfile.TemporaryDirectory(prefix="td3-studio-pictures-") as name:
        made = Path(name)
        os.environ["TD3_STUDIO_PRESETS"] = str(made / "presets")
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(made))
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        first_start(made, folder)
        runs = made / "runs"
        killed = cut_short(runs, seed=1, at=6_000)
        cut_short(runs, seed=2, at=3_000)
        window = build_window(runs)
        # Whatever the screen is.
        window.resize(1280, 800)
        window.show()
        by = Photographer(window, folder)
        by.wait(SETTLED_MS)
        window.banner.hide()
        try:
            run = train_and_tune(by)
            resume(by, killed)
            branch(by, run)
            group(by)
            compare_agents(by)
            health(by)
        finally:
            window.save_and_close()
            by.idle()
            by.wait(SETTLED_MS)
    app.quit()


if __name__ == "__main__":
    main()
