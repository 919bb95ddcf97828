"""The start page: what to continue, what was trained lately, and how long a first run takes."""

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.welcome import start_page
from studio.welcome.start_facts import measure_first_training, read_facts
from studio.welcome.start_page import StartPage
from td3core.runs.new_run import machine
from tests.studio.fake_runs import make_run


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


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
    qtbot.waitUntil(lambda: not page._reader.busy, timeout=20_000)


def test_it_offers_the_latest_runs_and_the_last_one_that_can_go_on(
    qtbot: QtBot, place: QWidget, settings: QSettings, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    stopped = make_run(runs, seed=1, reached=600, stopped="user", name="half")
    stopped.last.touch()
    failed = make_run(runs, seed=2, reached=700, stopped="failed")
    failed.last.touch()
    for seed in range(3, 6):
        make_run(runs, seed=seed)
    page = StartPage(place, runs, settings)
    read(qtbot, page)
    assert shown(page, "start_continue_button") == ["Continue half: 600 of 1,000"]
    with qtbot.waitSignal(page.continue_requested) as asked:
        page.findChild(QPushButton, "start_continue_button").click()
    assert asked.args == [stopped.path]
    links = page.findChildren(QPushButton, "start_recent_button")
    assert ["seed 5" in links[0].text(), len(links)] == [True, 4]
    with qtbot.waitSignal(page.open_requested) as asked:
        links[0].click()
    assert asked.args[0].name.startswith("Pendulum-v1_td3_s5")
    # Nothing of it lies outside of its place, or on the sentence at the top.
    assert place.rect().contains(page.geometry())
    assert page.y() >= 48
    place.resize(300, 120)
    assert page.geometry() == place.rect()
    page.stop()


def test_the_length_of_a_first_training_is_that_of_an_earlier_run_or_measured(
    qtbot: QtBot,
    place: QWidget,
    settings: QSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = tmp_path / "runs"
    page = StartPage(place, runs, settings)
    read(qtbot, page)
    assert shown(page, "start_train_button") == ["Train your first agent"]
    monkeypatch.setattr(start_page, "measure_first_training", lambda _: 200.0)
    page.measure()
    qtbot.waitUntil(lambda: not page._measurement.busy, timeout=20_000)
    measured = "Train your first agent: about 3 minutes here"
    assert shown(page, "start_train_button") == [measured]
    page.stop()
    # It is remembered, for this kind of machine only.
    page = StartPage(place, runs, settings)
    assert shown(page, "start_train_button") == [measured]
    settings.setValue("welcome/first_training", [repr(machine() | {"cores": 999}), 200.0])
    assert shown(StartPage(place, runs, settings), "start_train_button") == [
        "Train your first agent"
    ]
    # A run of the preset that was finished here counts more: 20,000 steps at 150 a second.
    make_run(runs, reached=20_000, steps=20_000)
    read(qtbot, page)
    assert shown(page, "start_train_button") == ["Train another agent: about 2 minutes here"]
    page.stop()


def test_runs_of_another_machine_or_too_short_ones_promise_nothing(tmp_path: Path) -> None:
    elsewhere = make_run(tmp_path, reached=20_000, steps=20_000)
    file = elsewhere.path / "run.toml"
    file.write_text(file.read_text().replace("cores = ", "cores = 9"))
    make_run(tmp_path, reached=500, steps=500)
    assert read_facts(tmp_path, lambda: False).first_s is None
    assert read_facts(tmp_path / "none", lambda: False).recent == ()


@pytest.mark.slow
def test_a_measurement_trains_in_a_process_of_its_own_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seconds = measure_first_training(lambda: False)
    assert seconds is not None
    assert 1 < seconds < 3600
    assert measure_first_training(lambda: True) is None
    assert list(tmp_path.glob("td3-studio-speed-*")) == []


def test_a_button_has_room_for_its_text_when_it_becomes_longer(
    qtbot: QtBot, place: QWidget, settings: QSettings, tmp_path: Path
) -> None:
    page = StartPage(place, tmp_path / "runs", settings)
    read(qtbot, page)
    settings.setValue("welcome/first_training", [repr(machine()), 118.0])
    page.refresh()
    qtbot.waitUntil(lambda: not page._reader.busy, timeout=20_000)
    button = page.findChild(QPushButton, "start_train_button")
    assert button.text().endswith("here")
    assert button.width() >= button.sizeHint().width()
