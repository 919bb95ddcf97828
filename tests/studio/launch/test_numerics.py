"""Runs of another numerics class: trained in a separate process, never claimed to be exact."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QDialog, QLabel

from studio.launch.dialogs import OtherClassDialog
from td3core import checkpoint
from td3core.experiments.jobs import NewRun
from td3core.protocol.events import Ended, Progress
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import summarise
from td3core.system import numerics
from tests.studio.launch.test_resume import train_before, wait_until_idle
from tests.studio.window.test_main_job import Listener
from tests.td3core.helpers import tiny

other = pytest.mark.skipif(
    numerics.current() != "avx512", reason="needs a processor with two portable classes"
)


def of_class(run: RunDirectory, name: str) -> RunDirectory:
    """Make a run's description say that it was trained in another class."""
    here, there = (f'numerics = "{each}"' for each in (numerics.current(), name))
    file = run.path / "run.toml"
    text = file.read_text("utf-8")
    assert here in text
    file.write_text(text.replace(here, there), "utf-8")
    return RunDirectory.open(run.path)


@pytest.mark.slow
@other
def test_a_run_of_another_class_trains_in_a_process_of_its_own_and_is_steered_alike(
    qtbot, window, runs_dir
):
    config, tunables = tiny("Pendulum-v1", steps=100_000, numerics="avx2")
    listener = Listener(window)
    window.controller.begin(NewRun(config=config, tunables=tunables, runs_dir=runs_dir))
    assert window.controller.can_leave, "it is a process of its own"
    qtbot.waitUntil(lambda: bool(listener.all(Progress)), timeout=60_000)
    revision = window.controller.tune(replace(tunables, tau=0.01))
    qtbot.waitUntil(lambda: listener.all(Progress)[-1].revision == revision, timeout=60_000)
    window.controller.stop()
    qtbot.waitUntil(lambda: bool(listener.all(Ended)), timeout=60_000)
    wait_until_idle(qtbot, window)
    header = checkpoint.read_header(RunDirectory.open(listener.said[-1].run).last)
    assert (header.numerics["class"], header.numerics["kernels"]) == ("avx2", "Haswell")


@pytest.mark.slow
def test_a_run_that_would_not_be_exact_here_is_resumed_only_after_a_word(
    qtbot, window, runs_dir, monkeypatch
):
    missing = "neon" if numerics.natural() != "neon" else "avx512"
    run = of_class(train_before(runs_dir), missing)
    asked: list[str] = []

    def decline(dialog: OtherClassDialog) -> int:
        asked.append(dialog.findChild(QLabel).text().replace("\u200b", ""))
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(OtherClassDialog, "exec", decline)
    window.launcher.resume(run.path)
    qtbot.waitUntil(lambda: bool(asked), timeout=20_000)
    assert f"{numerics.shown(missing)} kernels, which this processor does not have" in asked[0]
    assert not window.controller.busy
    assert OtherClassDialog(summarise(run), missing, window).windowTitle() == (
        "This run cannot be resumed exactly"
    )
