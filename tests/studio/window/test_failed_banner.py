"""The banner about a failed run."""

from pathlib import Path

import pytest

from studio.session.controller import SessionState
from td3core.config import make_settings
from td3core.protocol.events import Failed, Saved
from td3core.text import Text
from tests.support.events import ended, started

pytestmark = pytest.mark.shared_window


def test_which_agent_was_saved_is_a_line_of_its_own_below_what_failed(window) -> None:
    last = Path("run/checkpoints/last.safetensors")
    ending = ended("failed", last_checkpoint=last)
    window.model.run_ended.emit(
        Failed(
            message=Text("It raised ValueError: boom"),
            details="",
            ending=ending,
            saved_steps=1500,
        )
    )
    assert window.banner.text == (
        "It raised ValueError: boom\nThe newest saved agent is of step 1,500: last.safetensors."
    )


@pytest.fixture
def diverged(window) -> Failed:
    """The end of a run whose numbers became infinite, as the window shows it."""
    ending = ended("failed", last_checkpoint=Path("run/checkpoints/last.safetensors"))
    event = Failed(message=Text("Q became inf."), details="", ending=ending, diverged=True)
    window.model.handle(event)
    return event


def test_what_failed_stays_in_sight_while_the_queue_goes_on(window, find, diverged) -> None:
    window.model.handle(started(*make_settings({"env": "Pendulum-v1"}), run=Path("next")))
    window.model.handle(Saved(env_steps=10, path=Path("next/checkpoints/last.safetensors")))
    assert window.banner.text == "Q became inf."
    assert find("banner_action_button").isVisible()
    # What the user starts takes its place.
    window.many.beginning.emit()
    assert not window.banner.isVisible()


def test_a_branch_that_is_asked_for_while_a_run_starts_is_refused_in_words(
    window, find, diverged, monkeypatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(type(window.controller), "busy", property(lambda _: True))
        find("banner_action_button").click()
        assert window.banner.text == "A run is training. Wait for its end, or stop it first."
    window.controller.state_changed.emit(SessionState.IDLE)
    assert not window.banner.isVisible()


def test_an_error_stays_when_a_run_of_the_queue_starts(window) -> None:
    window.banner.show_message("error", "It cannot be written.")
    window.model.handle(started(*make_settings({"env": "Pendulum-v1"}), run=Path("next")))
    assert window.banner.isVisible()
