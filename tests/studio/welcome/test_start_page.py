"""The start page: the run to continue, recent runs, and the duration of a first run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.theme.sizes import scaled
from studio.welcome.start_facts import read_facts
from studio.welcome.start_page import StartPage
from td3core.config.presets import preset_for
from td3core.envs.catalogue import FIRST_ENV
from tests.studio.fake_runs import make_run


@pytest.fixture
def place(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(520, 370)
    made.show()
    return made


def shown(page: StartPage, name: str) -> list[str]:
    found = page.findChildren(QPushButton, name)
    return [button.accessibleName() for button in found if not button.isHidden()]


def read(qtbot: QtBot, page: StartPage) -> None:
    page.show()
    page.refresh()
    qtbot.waitUntil(lambda: not page.reading, timeout=20_000)


def test_it_offers_the_latest_runs_and_the_last_one_that_can_go_on(
    qtbot: QtBot, place: QWidget, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    stopped = make_run(runs, seed=1, reached=600, stopped="user", name="half")
    stopped.last.touch()
    failed = make_run(runs, seed=2, reached=700, stopped="failed")
    failed.last.touch()
    for seed in range(3, 6):
        make_run(runs, seed=seed)
    page = StartPage(place, runs)
    read(qtbot, page)
    assert shown(page, "start_continue_button") == ["Continue Pendulum-v1 · half: 600 of 1,000"]
    with qtbot.waitSignal(page.continue_requested) as asked:
        page.findChild(QPushButton, "start_continue_button").click()
    assert asked.args == [stopped.path]
    links = page.findChildren(QPushButton, "start_recent_button")
    assert ["seed 5" in links[0].accessibleName(), len(links)] == [True, 4]
    with qtbot.waitSignal(page.open_requested) as asked:
        links[0].click()
    assert asked.args[0].name.startswith("Pendulum-v1_td3_s5")
    # Nothing of it lies outside of its place, or on the sentence at the top.
    assert place.rect().contains(page.geometry())
    assert page.y() >= 48
    place.resize(300, 120)
    assert page.geometry() == place.rect()
    page.stop()


@pytest.mark.parametrize("points", [9, 14])
def test_recent_runs_show_seed_environment_and_best_whole_at_any_font(
    qtbot: QtBot, place: QWidget, tmp_path: Path, qapp: QApplication, points: int
) -> None:
    before = qapp.font()
    font = QFont(before)
    font.setPointSizeF(points)
    qapp.setFont(font)
    runs = tmp_path / "runs"
    settings = {"gamma": 0.97, "batch_size": 64, "learning_starts": 500}
    make_run(runs, seed=123, reached=600, stopped="user", **settings).last.touch()
    page = StartPage(place, runs)
    place.resize(scaled(520), scaled(370))
    read(qtbot, page)
    (link,) = page.findChildren(QPushButton, "start_recent_button")
    best = link.accessibleName().rpartition(" · ")[-1]
    try:
        for width in (640, 540):
            place.resize(scaled(width), scaled(370))
            first, second = link.text().split("\n")
            assert link.isVisible()
            assert link.width() >= link.sizeHint().width()
            assert first.startswith("seed 123 · ")
            assert first.endswith("…")
            assert second == f"Pendulum-v1 · {best}"
    finally:
        qapp.setFont(before)
        page.stop()
    # The button to continue tells the same run by its seed.
    button = page.findChild(QPushButton, "start_continue_button")
    assert button.text() == "Continue Pendulum-v1 · seed 123: 600 of 1,000"


def test_it_makes_way_for_a_run_that_starts_and_comes_back_if_none_does(
    place: QWidget, tmp_path: Path
) -> None:
    page = StartPage(place, tmp_path)
    page.show()
    page.set_busy(True)
    assert page.isHidden()
    # A large replay that becomes small again.
    page.set_aside(True)
    page.set_aside(False)
    assert page.isHidden()
    page.set_busy(False)
    assert page.isVisible()
    page.set_busy(True)
    page.dismiss()
    page.set_busy(False)
    assert page.isHidden()


@pytest.mark.parametrize("width", [300, 220])
def test_a_long_name_is_cut_where_its_place_is_narrow(
    qtbot: QtBot, place: QWidget, tmp_path: Path, width: int
) -> None:
    runs = tmp_path / "runs"
    name = "a name of some length, " * 3
    make_run(runs, seed=1, reached=600, stopped="user", name=name).last.touch()
    page = StartPage(place, runs)
    place.resize(900, 370)
    read(qtbot, page)
    whole = page.findChild(QPushButton, "start_continue_button").text()
    place.resize(width, 370)
    qtbot.waitUntil(lambda: page.width() <= width)
    button = page.findChild(QPushButton, "start_continue_button")
    assert place.rect().contains(page.geometry())
    qtbot.waitUntil(lambda: page.rect().contains(button.geometry()))
    assert button.width() >= button.sizeHint().width()
    assert "…" in button.text()
    place.resize(900, 370)
    assert button.text() == whole
    page.stop()


def test_recent_runs_stay_beside_a_long_name_to_continue(
    qtbot: QtBot, place: QWidget, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    name = "a name of some length, " * 3
    make_run(runs, seed=1, reached=600, stopped="user", name=name).last.touch()
    page = StartPage(place, runs)
    read(qtbot, page)
    button = page.findChild(QPushButton, "start_continue_button")
    (link,) = page.findChildren(QPushButton, "start_recent_button")
    for width in (504, 417):
        place.resize(width, 370)
        assert page.width() <= width
        assert link.isVisible()
        assert button.text().startswith("Continue Pend")
        # The name tells more than the progress, which the tip has.
        assert "600 of 1,000" not in button.text()
        assert ": 600 of 1,000" in button.toolTip()
        assert button.width() >= button.sizeHint().width()
    page.stop()


def test_the_manual_names_every_button_of_the_page(
    qtbot: QtBot, place: QWidget, tmp_path: Path, root: Path
) -> None:
    page = StartPage(place, tmp_path)
    read(qtbot, page)
    text = (root / "resources" / "manual" / "getting-started.md").read_text("utf-8")
    labels = [button.accessibleName() for button in page.findChildren(QPushButton)]
    assert len(labels) == 4
    assert [label for label in labels if f"*{label}*" not in text] == []
    page.stop()


def test_how_long_a_training_takes_is_that_of_an_earlier_run(
    qtbot: QtBot, place: QWidget, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    page = StartPage(place, runs)
    read(qtbot, page)
    assert shown(page, "start_train_button") == ["Train your first agent"]
    # A run of the preset that was finished here, at 150 steps a second.
    preset = preset_for(FIRST_ENV)
    assert preset is not None
    steps = int(preset.values["steps"])
    make_run(runs, FIRST_ENV, reached=steps, **preset.values)
    read(qtbot, page)
    minutes = round(steps / 150 / 60)
    expected = [f"Train another agent: about {minutes} minutes here"]
    assert shown(page, "start_train_button") == expected
    # The longer text has room.
    button = page.findChild(QPushButton, "start_train_button")
    assert button.width() >= button.sizeHint().width()
    page.stop()


def test_runs_of_another_machine_or_too_short_ones_promise_nothing(tmp_path: Path) -> None:
    preset = preset_for(FIRST_ENV)
    assert preset is not None
    values = dict(preset.values)
    steps = values["steps"]
    elsewhere = make_run(tmp_path, FIRST_ENV, reached=steps, **values)
    file = elsewhere.path / "run.toml"
    file.write_text(file.read_text().replace("cores = ", "cores = 9"))
    make_run(tmp_path, FIRST_ENV, reached=500, **values | {"steps": 500})
    # An earlier version had another preset of this name.
    make_run(tmp_path, FIRST_ENV, reached=steps, **values | {"batch_size": 64})
    assert read_facts(tmp_path, lambda: False).first_s is None
    make_run(tmp_path, FIRST_ENV, reached=steps, numerics="avx2", **values)
    assert read_facts(tmp_path, lambda: False).first_s == pytest.approx(steps / 150, rel=0.01)
    assert read_facts(tmp_path / "none", lambda: False).recent == ()


START = """
import sys, threading, time
import psutil
from PySide6.QtWidgets import QApplication
from studio import app

def turn(*_):
    # Until torch is loaded and the walker plays: what the window starts by itself has begun then.
    end = time.monotonic() + 60
    while time.monotonic() < end and not psutil.Process().children():
        QApplication.processEvents()
        time.sleep(0.05)
    for _ in range(10):
        QApplication.processEvents()
        time.sleep(0.02)
    words = [child.cmdline() for child in psutil.Process().children()]
    print(len(words) > 0, any("train" in line for line in words))
    QApplication.closeAllWindows()
    return 0

QApplication.exec = turn
raise SystemExit(app.run())
"""


@pytest.mark.slow
def test_nothing_is_trained_unasked_at_the_first_start(root: Path, tmp_path: Path) -> None:
    folders = {"TD3_STUDIO_RUNS": str(tmp_path / "runs"), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", START],
        cwd=root,
        env=os.environ | folders,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["True", "False"], done.stderr
