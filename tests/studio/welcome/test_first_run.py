"""The notes on the first run: each when it is true, and none of another run."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QToolButton

from studio.session.model import RunModel
from studio.welcome.first_run import FirstRunNotes
from td3core.config import make_settings
from td3core.protocol.events import (
    EpisodeEnded,
    Episodes,
    Failed,
)
from td3core.text import Text
from tests.support.events import ended, evaluated, progress, started


@pytest.fixture
def model() -> RunModel:
    return RunModel()


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "notes.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def notes(qtbot: Any, model: RunModel, settings: QSettings) -> FirstRunNotes:
    made = FirstRunNotes(model, settings)
    qtbot.addWidget(made)
    return made


def start(model: RunModel, threshold: float | None = None, run: str = "run") -> None:
    config, tunables = make_settings({"env": "BipedalWalker-v3", "learning_starts": 1_000})
    model.handle(
        started(
            config,
            tunables,
            run=Path(run),
            engine=Text("the compiled update"),
            reward_threshold=threshold,
        )
    )


def reach(model: RunModel, step: int, *returns: float) -> None:
    """Report a step; episodes of 200 steps with these returns end before it."""
    first = step - 200 * (len(returns) - 1)
    episodes = [
        EpisodeEnded(
            episode=step // 200 + i,
            env_steps=first + 200 * i,
            episode_return=value,
            shaped_return=value,
            length=200,
            terminated=False,
        )
        for i, value in enumerate(returns)
    ]
    assert model.record.config is not None
    assert model.record.first_tunables is not None
    model.handle(
        progress(
            step,
            updates=max(step - 1_000, 0),
            episodes=len(episodes),
            tunables=model.record.first_tunables,
            ended=Episodes.of(episodes),
        )
    )


def evaluate(model: RunModel, step: int, mean: float) -> None:
    model.handle(evaluated(step, mean))


def test_each_note_is_shown_when_it_has_become_true(notes: FirstRunNotes, model: RunModel) -> None:
    notes.expect()
    start(model, threshold=-200.0)
    reach(model, 1_000, -1400.0, -1250.0, -900.0, -1300.0, -1200.0)
    assert notes.isHidden()
    reach(model, 1_050)
    assert notes.text.startswith("After 1,000 steps with random actions, the critics")
    evaluate(model, 2_000, -900.0)
    assert notes.text.startswith("After 1,000 steps")
    # A good episode with noise is no evaluation.
    reach(model, 2_200, -100.0)
    assert notes.text.startswith("After 1,000 steps")
    evaluate(model, 3_000, -850.5)
    assert notes.text.startswith("The actor beats random.")
    assert "−850.5" in notes.text
    assert "the best of 5 episodes with random actions returned −900.0" in notes.text
    evaluate(model, 4_000, -200.5)
    assert notes.text.startswith("The actor")
    evaluate(model, 5_000, -152.0)
    assert notes.text.startswith("Solved. An evaluation returned −152.0")
    assert "counts as solved from −200.0 on" in notes.text
    evaluate(model, 6_000, -900.0)
    assert notes.text.startswith("Solved")


def test_where_the_environment_has_a_threshold_that_one_counts(
    notes: FirstRunNotes, model: RunModel
) -> None:
    notes.expect()
    start(model, threshold=300.0)
    evaluate(model, 2_000, 299.0)
    assert not notes.text
    evaluate(model, 3_000, 301.0)
    assert "counts as solved from 300.0 on" in notes.text


def test_without_an_episode_of_the_warm_up_nothing_is_compared(
    notes: FirstRunNotes, model: RunModel
) -> None:
    notes.expect()
    start(model)
    evaluate(model, 2_000, -500.0)
    assert not notes.text


def test_only_the_run_that_the_start_page_begins_is_narrated(
    notes: FirstRunNotes, model: RunModel
) -> None:
    start(model)
    reach(model, 1_050)
    assert notes.isHidden()
    notes.expect()
    start(model, run="first")
    reach(model, 1_050)
    assert not notes.isHidden()
    start(model, run="next")
    assert notes.isHidden()
    reach(model, 1_050)
    assert notes.isHidden()


def test_a_run_that_was_refused_uses_up_no_note(notes: FirstRunNotes, model: RunModel) -> None:
    notes.expect()
    model.handle(Failed(message=Text("It cannot be written."), details="", request=True))
    notes.expect()
    start(model)
    reach(model, 1_050)
    assert not notes.isHidden()


def test_closed_they_stay_closed(notes: FirstRunNotes, model: RunModel) -> None:
    notes.expect()
    start(model)
    reach(model, 1_050)
    notes.findChild(QToolButton, "first_run_close_button").click()
    assert notes.isHidden()
    evaluate(model, 5_000, -150.0)
    assert notes.isHidden()
    notes.expect()
    start(model, run="another")
    reach(model, 1_050)
    assert notes.isHidden()


def test_a_first_run_that_has_ended_keeps_its_note_and_is_the_last_one_narrated(
    notes: FirstRunNotes, model: RunModel
) -> None:
    notes.expect()
    start(model)
    reach(model, 1_050)
    model.handle(ended("user", env_steps=1_050, updates=50, episodes=5))
    assert not notes.isHidden()
    notes.expect()
    start(model, run="another")
    reach(model, 1_050)
    assert notes.isHidden()
