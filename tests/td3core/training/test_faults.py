"""A run whose environment or numbers fail: it reports that, and keeps the rest."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from td3core import checkpoint
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Saved, Started
from td3core.runs.tables import read_table
from td3core.training.launch import train
from tests.support.scripted import DISCRETE, Script, ScriptedEnv
from tests.td3core.helpers import Told, fail, run, tiny


def broken(_: Any) -> Any:
    raise ValueError("the joint broke")


def unwritable(*_: Any) -> Any:
    raise RuntimeError("no tensor is contiguous")


FAULTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "raises": (broken, "ValueError.*the joint broke"),
    "NaN observation": (lambda o: (np.float32([0, np.nan]), *o[1:]), "observation.*not finite"),
    "infinite observation": (
        lambda o: (np.float32([np.inf, 0]), *o[1:]),
        "observation.*not finite",
    ),
    "NaN reward": (lambda o: (o[0], np.nan, *o[2:]), "reward of nan"),
    "infinite reward": (lambda o: (o[0], -np.inf, *o[2:]), "reward of -inf"),
    "no reward": (lambda o: (o[0], None, *o[2:]), "TypeError"),
    "too many numbers": (lambda o: (np.zeros(3), *o[1:]), "size 3 instead of 2"),
    "too few numbers": (lambda o: (np.zeros(1), *o[1:]), "size 1 instead of 2"),
    "words": (lambda o: ("left leg up", *o[1:]), "ValueError"),
    "four values": (lambda o: o[:4], "ValueError"),
}


@pytest.mark.parametrize(("fault", "says"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_environment_ends_the_run_with_its_step_and_keeps_what_was_done(
    runs_dir: Path, scripted: Any, fault: Callable[[Any], Any], says: str
) -> None:
    script = Script([(7, "terminated")], faults={55: fault})
    outcome, told = fail(runs_dir, scripted(script), steps=100, checkpoint_interval=40)
    assert outcome.env_steps == 54
    assert "step 54" in str(outcome.message)
    assert re.search(says, str(outcome.message))
    # A traceback leads to the fault only where something was raised.
    raised = "Error" in str(outcome.message)
    assert outcome.details.startswith("Traceback" if raised else "")
    assert bool(outcome.details) == raised
    assert "Traceback" not in str(outcome.message)
    assert told.events[-1] is outcome
    assert not outcome.request
    assert not outcome.diverged
    assert outcome.run is not None
    assert outcome.last_checkpoint is not None
    assert checkpoint.load(outcome.last_checkpoint).header.counters.env_steps == 54
    assert (outcome.run / "checkpoints/step_000000040.safetensors").exists()
    assert len(read_table(outcome.run / "episodes.csv")) == 7
    assert len(read_table(outcome.run / "training.csv")) >= 1
    assert script.made == script.closed


def test_a_fault_on_reset_ends_the_run_with_its_step(runs_dir: Path, scripted: Any) -> None:
    def on_reset(number: int) -> None:
        if number == 3:
            raise RuntimeError("no ground to stand on")

    script = Script([(7, "terminated")], on_reset=on_reset)
    outcome, _ = fail(runs_dir, scripted(script))
    assert outcome.env_steps == 21
    assert "step 21" in str(outcome.message)
    assert "RuntimeError" in str(outcome.message)
    assert "no ground to stand on" in str(outcome.message)
    assert outcome.run is not None
    assert len(read_table(outcome.run / "episodes.csv")) == 3
    assert script.made == script.closed


def test_a_fault_at_the_very_first_reset_is_told_like_any_other(
    runs_dir: Path, scripted: Any
) -> None:
    def on_reset(_: int) -> None:
        raise RuntimeError("no ground to stand on")

    outcome, told = fail(runs_dir, scripted(Script(on_reset=on_reset)))
    assert outcome.env_steps == 0
    assert "no ground to stand on" in str(outcome.message)
    assert len(told.all(Started)) == 1


@pytest.mark.parametrize(
    ("first", "says"),
    [(lambda obs: obs * np.nan, "not finite"), (lambda _: np.zeros(5), "size 5 instead of 2")],
    ids=["NaN", "too many numbers"],
)
def test_a_reset_without_a_usable_observation_ends_the_run_and_closes_its_environment(
    runs_dir: Path, scripted: Any, first: Callable[[Any], Any], says: str
) -> None:
    script = Script(first_obs=first)
    outcome, _ = fail(runs_dir, scripted(script))
    assert re.search(says, str(outcome.message))
    assert "step 0" in str(outcome.message)
    assert script.made == script.closed


def test_a_fault_during_an_evaluation_ends_the_run_with_its_step(
    runs_dir: Path, scripted: Any
) -> None:
    # With steps of 10 the 4th reset is that of the evaluation at step 30.
    def on_reset(number: int) -> None:
        if number == 4:
            raise RuntimeError("no ground to stand on")

    outcome, _ = fail(runs_dir, scripted(Script(on_reset=on_reset)), eval_interval=30)
    assert outcome.env_steps == 30
    assert outcome.last_checkpoint is not None
    assert "no ground to stand on" in str(outcome.message)
    assert "step 30" in str(outcome.message)


def test_an_unsuitable_environment_is_a_wrong_request_that_starts_and_writes_nothing(
    runs_dir: Path,
) -> None:
    for env in (DISCRETE, "Nosuch-v0"):
        outcome, told = fail(runs_dir, env)
        assert outcome.request
        assert outcome.run is None
        assert env in str(outcome.message)
        assert told.events == [outcome]
    assert not runs_dir.exists()


def test_settings_that_do_not_fit_together_are_a_wrong_request(runs_dir: Path) -> None:
    config, _ = tiny(buffer_size=100)
    _, tunables = tiny(batch_size=101)
    told = Told()
    outcome = train(config, tunables, Control(), told, runs_dir)
    assert told.events == [outcome]
    assert "batch_size 101" in str(getattr(outcome, "message", ""))
    assert not runs_dir.exists()


# Numbers that blow up ---------------------------------------------------------------------------

DIVERGING = {"critic_lr": 1.0, "actor_lr": 1.0, "learning_starts": 5, "policy_delay": 1}


def every_saved_weight_is_a_number(runs_dir: Path) -> bool:
    # Read raw: checkpoint.load refuses such a file, and here it should never have been written.
    found = [load_file(path) for path in runs_dir.glob("*/checkpoints/*.safetensors")]
    return all(
        np.isfinite(array).all()
        for arrays in found
        for name, array in arrays.items()
        if name.startswith(("actor.", "critic", "actor_target."))
        and not name.startswith("critic_adam.")
    )


def exploding(*, forgiving: bool) -> Script:
    """Return an environment on which infinite gradients turn all weights into NaN within steps.

    The observation repeats the action, so a NaN of the actor comes back, unless it is forgiven.
    """
    forgive = {n: lambda o: (np.nan_to_num(o[0]), *o[1:]) for n in range(5000) if forgiving}
    return Script([(40, "truncated")], reward=lambda *_: 1e38, echo=1e4, faults=forgive)


def test_a_loss_that_overflows_ends_the_run_with_quantity_and_step(
    runs_dir: Path, scripted: Any
) -> None:
    script = Script(reward=lambda *_: 1e30)
    outcome, told = fail(runs_dir, scripted(script), steps=200, checkpoint_interval=15, **DIVERGING)
    assert "diverged" in str(outcome.message)
    assert outcome.diverged
    assert "critic1_loss became inf" in str(outcome.message)
    # Nothing could resume from the checkpoint that is due then.
    assert "step 15" in str(outcome.message)
    assert "checkpoint" not in str(outcome.message), "there is none"
    assert not any(saved.path.stem == "last" for saved in told.all(Saved))
    assert every_saved_weight_is_a_number(runs_dir)


def test_the_last_good_checkpoint_survives_a_divergence(runs_dir: Path, scripted: Any) -> None:
    script = Script(reward=lambda step, _: 1e30 if step > 60 else 1.0)
    outcome, _ = fail(runs_dir, scripted(script), steps=200, checkpoint_interval=20)
    assert "last good checkpoint is untouched" in str(outcome.message)
    assert outcome.run is not None
    kept = outcome.run / "checkpoints/step_000000040.safetensors"
    assert checkpoint.load(kept).header.counters.env_steps == 40
    assert read_table(outcome.run / "training.csv")[-1]["env_steps"] == "50"


def test_an_agent_that_diverged_is_not_blamed_on_the_environment(
    runs_dir: Path, scripted: Any
) -> None:
    # The observation repeats the action: once the actor says NaN, the observation is NaN.
    outcome, _ = fail(runs_dir, scripted(exploding(forgiving=False)), steps=200, **DIVERGING)
    assert "diverged" in str(outcome.message)
    assert every_saved_weight_is_a_number(runs_dir)


@pytest.mark.parametrize(
    "values",
    [
        {"checkpoint_interval": 20},
        {"eval_interval": 7},
        # Saved at once, before the next action could show it; and a critic no action ever shows.
        {"checkpoint_interval": 1},
        {"checkpoint_interval": 1, "policy_delay": 100},
    ],
    ids=str,
)
def test_no_checkpoint_ever_holds_a_weight_that_is_not_a_number(
    runs_dir: Path, scripted: Any, values: dict[str, int]
) -> None:
    script = exploding(forgiving=True)
    outcome, _ = fail(runs_dir, scripted(script), steps=200, **DIVERGING | values)
    assert "diverged" in str(outcome.message)
    assert every_saved_weight_is_a_number(runs_dir)


def test_updates_that_diverge_where_health_is_measured_are_called_that(
    runs_dir: Path, scripted: Any
) -> None:
    values = {"steps": 2000, "update_interval": 1000, "updates_per_step": 64}
    outcome, _ = fail(runs_dir, scripted(exploding(forgiving=True)), **DIVERGING | values)
    assert "diverged" in str(outcome.message)
    assert outcome.diverged


def test_a_run_that_diverged_just_before_its_end_has_failed(runs_dir: Path, scripted: Any) -> None:
    script = exploding(forgiving=True)
    outcome, _ = run(runs_dir, scripted(script), steps=30, **DIVERGING)
    assert "diverged" in str(getattr(outcome, "message", "it claims to have ended well"))
    assert every_saved_weight_is_a_number(runs_dir)


# Environments that end the program --------------------------------------------------------------


class GaveUpError(BaseException):
    """No Exception, as asyncio's CancelledError is none."""


EXITS: dict[str, tuple[BaseException, str]] = {
    "sys.exit()": (SystemExit(), r"SystemExit.*sys\.exit\(\)"),
    "sys.exit(0)": (SystemExit(0), r"SystemExit.*sys\.exit\(0\)"),
    "sys.exit(text)": (SystemExit("no licence"), r"SystemExit.*no licence"),
    "its own": (GaveUpError("enough"), "GaveUpError.*enough"),
    "a generator's": (GeneratorExit(), "GeneratorExit"),
}


@pytest.mark.parametrize(("problem", "says"), EXITS.values(), ids=EXITS)
@pytest.mark.parametrize("where", ["step", "reset", "evaluation", "making"])
def test_an_environment_that_ends_the_program_fails_the_run_with_its_step(
    runs_dir: Path, scripted: Any, problem: BaseException, says: str, where: str
) -> None:
    def leave(now: bool) -> None:
        if now:
            raise problem

    # With steps of 10 the 4th reset is that of the evaluation at step 30; 0 is check_env's.
    script = Script(
        on_step=lambda step: leave(where == "step" and step == 31),
        on_reset=lambda number: leave(number == {"reset": 3, "evaluation": 4}.get(where)),
        on_make=lambda: leave(where == "making" and script.made == 4),
    )
    values = {"eval_interval": 30} if where == "evaluation" else {}
    outcome, told = fail(runs_dir, scripted(script), **values)
    # What failed to be made did so with a sentence of its own.
    assert re.search(says.split(".*")[-1] if where == "making" else says, str(outcome.message))
    assert "step 30" in str(outcome.message)
    assert outcome.ending is not None
    assert outcome.ending.stopped == "failed"
    assert told.events[-1] is outcome
    assert checkpoint.read_header(outcome.last_checkpoint).counters.env_steps == 30


def test_an_environment_that_ends_the_program_at_once_is_a_wrong_request(
    runs_dir: Path, scripted: Any
) -> None:
    def leave() -> None:
        raise SystemExit

    outcome, _ = fail(runs_dir, scripted(Script(on_make=leave)))
    assert outcome.request
    assert "sys.exit()" in str(outcome.message)


def test_an_environment_that_ends_the_program_while_it_is_closed_does_not_end_the_run(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(env: ScriptedEnv) -> None:
        if env.script.steps:
            raise SystemExit

    monkeypatch.setattr(ScriptedEnv, "close", leave)
    outcome, _ = run(runs_dir, scripted(Script()), env_check=False)
    assert isinstance(outcome, Ended), outcome
    assert outcome.stopped == "finished"


def test_a_real_interrupt_still_passes_through(runs_dir: Path, scripted: Any) -> None:
    def interrupt(step: int) -> None:
        if step == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(runs_dir, scripted(Script(on_step=interrupt)))


def test_what_cannot_be_saved_after_a_failure_is_logged_and_hides_nothing(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("td3core.training.checkpointer.Checkpointer.save", unwritable)
    script = Script([(7, "terminated")], faults={55: broken})
    outcome, told = fail(runs_dir, scripted(script), steps=100)
    assert "the joint broke" in str(outcome.message)
    assert told.events[-1] is outcome
    (record,) = (each for each in caplog.records if each.levelname == "ERROR")
    assert "the last agent could not be saved" in str(record.message)
    assert "no tensor is contiguous" in record.exc_text
