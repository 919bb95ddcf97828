"""Requests of a person to a training run."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.config import Tunables, specs
from td3core.config.algorithms import TD3, TQC, unused_by
from td3core.protocol.control import Control
from td3core.protocol.events import (
    Ended,
    Evaluated,
    Event,
    Failed,
    Phase,
    Progress,
    Saved,
    Started,
    Tuned,
    Warned,
)
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change
from td3core.training.launch import train
from tests.support.scripted import Script, registered
from tests.td3core.helpers import Told, finish, run, same, tensors, tiny

WAIT_S = 20
START = {"exploration_noise": 0.3, "exploration_noise_decay": 0.9, "exploration_noise_min": 0.0}
OTHER = {
    "tau": 0.5,
    "exploration_noise": 0.9,
    "policy_noise": 1.0,
    "noise_clip": 0.05,
    "policy_delay": 1,
    "gamma": 0.5,
    "actor_lr": 0.01,
    "critic_lr": 0.01,
    "batch_size": 4,
    "updates_per_step": 2,
    "update_interval": 3,
    "n_step": 3,
    "noise_correlation": 0.9,
    "exploration_noise_decay": 0.99,
    "exploration_noise_min": 0.25,
    "action_penalty": 0.5,
    "reward_floor": 3.0,
    "dropped_quantiles": 20,
}


def at_step(number: int, act: Any) -> Any:
    """Call ``act`` from inside the environment, while step ``number`` is being taken."""
    return lambda step: act() if step == number else None


def weights(outcome: Any, step: int) -> dict[str, Any]:
    return tensors(outcome.run / f"checkpoints/step_{step:09d}.safetensors")


def tuned_run(
    runs_dir: Path,
    scripted: Any,
    step: int,
    *,
    every: int = 10,
    algorithm: str = TD3,
    **changes: Any,
) -> tuple[Ended, Told]:
    """Train for 40 steps with checkpoints at some, and change settings during one step."""
    control, start = Control(), START | {"algorithm": algorithm}
    _, first = tiny(**start)
    new = Tunables(**{name: getattr(first, name) for name, _ in specs(Tunables)} | changes)
    ask = (lambda: control.tune(new)) if changes else (lambda: None)
    script = Script([(7, "truncated")], on_step=at_step(step, ask), echo=1.0)
    values = start | {"steps": 40, "checkpoint_interval": every, "control": control}
    outcome, told = run(runs_dir, scripted(script), **values)
    assert isinstance(outcome, Ended)
    return outcome, told


def test_a_live_change_reaches_the_very_next_update_and_none_before(
    runs_dir: Path, scripted: Any
) -> None:
    plain, _ = tuned_run(runs_dir, scripted, 30, every=1)
    changed, told = tuned_run(runs_dir, scripted, 30, every=1, critic_lr=0.01)
    for step in range(1, 31):
        assert same(weights(plain, step), weights(changed, step)), step
    assert not same(weights(plain, 31), weights(changed, 31))
    (tuned,) = told.all(Tuned)
    assert (tuned.env_steps, tuned.updates, tuned.revision) == (30, 10, 1)
    assert tuned.changes == (("critic_lr", 3e-4, 0.01),)
    assert tuned.tunables.critic_lr == 0.01


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The run in which nothing is changed, once for all that are compared with it."""
    with registered() as register:
        return tuned_run(tmp_path_factory.mktemp("untouched") / "runs", register, 30)[0]


@pytest.mark.parametrize("name", dict(specs(Tunables)))
def test_every_live_setting_changes_the_run_from_the_step_it_is_changed_on(
    runs_dir: Path, scripted: Any, untouched: Ended, name: str
) -> None:
    plain, algorithm = untouched, TD3
    if name in unused_by(TD3):
        algorithm = TQC
        plain, _ = tuned_run(runs_dir / "plain", scripted, 30, algorithm=algorithm)
    changed, told = tuned_run(runs_dir, scripted, 30, algorithm=algorithm, **{name: OTHER[name]})
    assert same(weights(plain, 30), weights(changed, 30))
    assert not same(weights(plain, 40), weights(changed, 40))
    assert checkpoint.read_header(changed.last_checkpoint).tunables == told.all(Tuned)[0].tunables


def test_every_change_is_one_line_of_the_journal(runs_dir: Path, scripted: Any) -> None:
    outcome, _ = tuned_run(runs_dir, scripted, 25, gamma=0.5, policy_delay=3)
    lines = (outcome.run / "journal.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert all(entry.pop("time") for entry in entries)
    assert sorted(entries, key=lambda entry: entry["field"]) == [
        {"step": 25, "field": "gamma", "old": 0.99, "new": 0.5},
        {"step": 25, "field": "policy_delay", "old": 2, "new": 3},
    ]


def test_reports_carry_the_settings_that_are_in_force(runs_dir: Path, scripted: Any) -> None:
    _, told = tuned_run(runs_dir, scripted, 25, tau=0.5)
    place = next(i for i, event in enumerate(told.events) if isinstance(event, Tuned))
    for index, event in enumerate(told.events):
        if isinstance(event, Progress):
            tau, revision = event.tunables.tau, event.revision
            assert (tau, revision) == ((0.5, 1) if index > place else (0.005, 0))
    assert isinstance(told.events[-2], Progress)


def test_of_several_changes_during_one_step_the_last_is_applied_once(
    runs_dir: Path, scripted: Any
) -> None:
    control = Control()

    def ask() -> None:
        for tau in (0.1, 0.2, 0.3):
            control.tune(Tunables(tau=tau, batch_size=8))

    script = Script(on_step=at_step(25, ask))
    _, told = run(runs_dir, scripted(script), control=control)
    assert [(t.revision, t.changes) for t in told.all(Tuned)] == [(3, (("tau", 0.005, 0.3),))]


def test_moving_the_noise_starts_its_decay_afresh(runs_dir: Path, scripted: Any) -> None:
    outcome, _ = tuned_run(runs_dir, scripted, 30, every=1, exploration_noise=0.9)
    noise = [
        checkpoint.read_header(outcome.run / f"checkpoints/step_{step:09d}.safetensors").counters
        for step in (30, 31, 40)
    ]
    expected = [0.3 * 0.9**10, 0.9 * 0.9, 0.9 * 0.9**10]
    assert [c.exploration_noise for c in noise] == pytest.approx(expected)


@pytest.mark.parametrize("value", [0.3, 0.9])
def test_a_noise_set_to_the_value_its_decay_began_with_decays_from_there_again(
    runs_dir: Path, scripted: Any, value: float
) -> None:
    control, values = Control(), START | {"checkpoint_interval": 10}
    script = Script(on_step=at_step(30, lambda: control.change({"exploration_noise": value})))
    outcome, _ = run(runs_dir, scripted(script), control=control, **values)
    assert isinstance(outcome, Ended)
    assert outcome.last_checkpoint is not None
    counters = checkpoint.read_header(outcome.last_checkpoint).counters
    assert counters.exploration_noise == pytest.approx(value * 0.9**30)
    (entry,) = (each for each in RunDirectory.open(outcome.run).journal() if "field" in each)
    assert (entry["step"], entry["field"], entry["new"]) == (30, "exploration_noise", value)
    assert entry["old"] == pytest.approx(0.3 if value == 0.9 else 0.3 * 0.9**10)
    # Whoever repeats the journal takes the same course.
    config, tunables = tiny(scripted(Script()), **values)
    again = train(
        config, tunables, Control(), Told(), runs_dir / "again", [Change(30, entry["field"], value)]
    )
    assert isinstance(again, Ended)
    assert same(tensors(outcome.last_checkpoint), tensors(again.last_checkpoint))


def test_changing_something_else_leaves_the_decaying_noise_where_it_was(
    runs_dir: Path, scripted: Any
) -> None:
    outcome, _ = tuned_run(runs_dir, scripted, 30, tau=0.5)
    header = checkpoint.read_header(outcome.last_checkpoint)
    assert header.counters.exploration_noise == pytest.approx(0.3 * 0.9**20)


class PausedRun:
    """A run in a thread of its own, paused during step 25 of 60."""

    def __init__(self, runs_dir: Path, scripted: Any) -> None:
        self.control, self.told = Control(), Told(self._heard)
        self._pauses = threading.Semaphore(0)
        self.script = Script(on_step=at_step(25, self.control.pause))
        config, tunables = tiny(scripted(self.script))
        self.outcome: Any = None

        def work() -> None:
            self.outcome = train(config, tunables, self.control, self.told, runs_dir)

        self._thread = threading.Thread(target=work)
        self._thread.start()

    def _heard(self, event: Event) -> None:
        if isinstance(event, Progress) and event.phase is Phase.PAUSED:
            self._pauses.release()

    def wait_for_pause(self) -> None:
        assert self._pauses.acquire(timeout=WAIT_S), "the run does not pause"

    def end(self) -> Any:
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        return self.outcome


def test_a_paused_run_takes_no_step_until_it_is_resumed(runs_dir: Path, scripted: Any) -> None:
    run_ = PausedRun(runs_dir, scripted)
    run_.wait_for_pause()
    assert run_.script.steps == 25
    # It still hears: each request is answered, and then it goes back to waiting.
    run_.control.save()
    run_.wait_for_pause()
    run_.control.tune(tiny(tau=0.5)[1])
    run_.wait_for_pause()
    assert run_.script.steps == 25
    assert [(s.env_steps, s.path.stem) for s in run_.told.all(Saved)] == [(25, "step_000000025")]
    assert [t.env_steps for t in run_.told.all(Tuned)] == [25]
    run_.control.unpause()
    outcome = run_.end()
    assert (outcome.stopped, outcome.env_steps, run_.script.steps) == ("finished", 60, 60)
    entries = [entry.get("event") for entry in RunDirectory.open(outcome.run).journal()]
    assert entries.count("pause") == 1, "a request while it is paused is no new pause"


def test_a_pause_changes_nothing_that_is_learnt(runs_dir: Path, scripted: Any) -> None:
    run_ = PausedRun(runs_dir, scripted)
    run_.wait_for_pause()
    run_.control.unpause()
    paused = run_.end()
    straight = finish(runs_dir, scripted(Script()))
    assert same(tensors(paused.last_checkpoint), tensors(straight.last_checkpoint))


def test_a_stop_ends_a_pause(runs_dir: Path, scripted: Any) -> None:
    run_ = PausedRun(runs_dir, scripted)
    run_.wait_for_pause()
    run_.control.stop()
    outcome = run_.end()
    assert (outcome.stopped, outcome.env_steps) == ("user", 25)


def test_a_stop_saves_the_last_checkpoint_and_ends_the_run(runs_dir: Path, scripted: Any) -> None:
    control = Control()
    # The evaluation after step 30 takes two episodes of 10 steps in the same script.
    script = Script(on_step=at_step(33 + 20, control.stop))
    counted = {"eval_interval": 10, "bias_interval": 0}
    outcome, told = run(runs_dir, scripted(script), control=control, **counted)
    assert isinstance(outcome, Ended)
    assert (outcome.stopped, outcome.env_steps, outcome.updates) == ("user", 33, 13)
    assert outcome.last_checkpoint is not None
    assert checkpoint.read_header(outcome.last_checkpoint).counters.env_steps == 33
    assert [e.env_steps for e in told.all(Evaluated)] == [30]


def test_a_stop_cuts_an_evaluation_short(runs_dir: Path, scripted: Any) -> None:
    control = Control()
    script = Script()

    def react(event: Event) -> None:
        if isinstance(event, Progress) and event.phase is Phase.EVALUATING:
            control.stop()

    values = {"eval_interval": 30, "eval_episodes": 1000}
    outcome, told = run(runs_dir, scripted(script), control=control, react=react, **values)
    assert isinstance(outcome, Ended)
    assert (outcome.stopped, outcome.env_steps) == ("user", 30)
    assert script.steps == 31
    assert not told.all(Evaluated)
    assert script.made == script.closed


def test_a_run_stopped_before_it_began_takes_no_step(runs_dir: Path, scripted: Any) -> None:
    control, script = Control(), Script()
    control.stop()
    outcome, _ = run(runs_dir, scripted(script), control=control)
    assert isinstance(outcome, Failed)
    assert (outcome.cancelled, script.steps) == (True, 0)
    # A run that has not taken a step is not worth a folder.
    assert not runs_dir.exists() or not [*runs_dir.iterdir()]


def test_a_save_that_is_asked_for_is_a_checkpoint_of_that_step(
    runs_dir: Path, scripted: Any
) -> None:
    control = Control()
    script = Script(on_step=at_step(33, control.save))
    outcome, told = run(runs_dir, scripted(script), control=control)
    assert [s.path.stem for s in told.all(Saved)] == ["step_000000033", "last"]
    assert checkpoint.load(told.all(Saved)[0].path).header.counters.env_steps == 33
    assert isinstance(outcome, Ended)
    assert outcome.stopped == "finished"


def test_any_live_change_followed_by_a_save_can_be_opened_again(
    runs_dir: Path,
) -> None:
    control = Control()
    odd = {"exploration_noise_min": 0.9, "exploration_noise": 0.1, "batch_size": 65_536}

    def react(event: Any) -> None:
        if isinstance(event, Started):
            control.tune(tiny(**odd)[1])

    outcome, told = run(runs_dir, control=control, react=react, buffer_size=1000)
    assert outcome.last_checkpoint is not None
    saved = checkpoint.load(outcome.last_checkpoint).header.tunables
    # A batch larger than the memory is refused with a warning, and so is the whole change.
    assert ["batch_size 65536" in str(w.message) for w in told.all(Warned)] == [True]
    assert saved == told.all(Tuned)[-1].tunables
    assert saved.batch_size != 65_536
