"""Several environments side by side: everything counted, and no step stored that was not taken."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.config import check_together
from td3core.errors import RequestError
from td3core.inference.normaliser import Normaliser
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated, Progress, Saved, Tuned
from td3core.randomness import Purpose, episode_seed, generator
from td3core.runs.tables import read_table
from tests.support.scripted import Script
from tests.td3core.helpers import fail, finish, make_agent, run, same, tensors, tiny

MIXED = [(3, "terminated"), (4, "truncated"), (5, "terminated")]


def played(episodes: list[tuple[int, str]], num_envs: int, steps: int) -> list[list[Any]]:
    """Say what has to be stored: rows of (episode, step, over, terminated), slot by slot."""
    current = [[episode, 0] for episode in range(num_envs)]
    begun, rows = num_envs, []
    for _ in range(steps // num_envs):
        ended = []
        for slot in current:
            length, end = episodes[slot[0] % len(episodes)]
            slot[1] += 1
            over = slot[1] == length
            rows.append([*slot, over, over and end == "terminated"])
            if over:
                ended.append(slot)
        for slot in ended:
            slot[:] = [begun, 0]
            begun += 1
    return rows


@pytest.mark.parametrize("num_envs", [1, 2, 3, 5])
def test_every_step_of_every_environment_is_stored_once_with_what_really_followed(
    runs_dir: Path, scripted: Any, stored: list[Any], num_envs: int
) -> None:
    script = Script(MIXED, reward=lambda step, _: step / 10)
    outcome = finish(runs_dir, scripted(script), steps=60, num_envs=num_envs, seed=5)
    expected = played(MIXED, num_envs, 60)
    assert len(stored) == script.steps == len(expected) == 60
    for number, (row, (episode, step, _, terminated)) in enumerate(
        zip(stored, expected, strict=True)
    ):
        obs, action, reward, next_obs, flag, _ = row
        assert obs.tolist() == [episode, step - 1]
        assert next_obs.tolist() == [episode, step]
        assert reward == pytest.approx((number + 1) / 10)
        assert bool(flag) == terminated
        np.testing.assert_allclose(script.actions[number], 2.0 * action, rtol=1e-6)
    # Fresh environments from seeds of the run, in the order the episodes begin, lowest slot first.
    begun = num_envs + sum(over for *_, over, _ in expected)
    assert script.seeds == [episode_seed(5, Purpose.ENVIRONMENT, i) for i in range(begun)]
    assert script.made == script.closed == begun + 1
    assert outcome.episodes == begun - num_envs


def test_a_time_limit_keeps_bootstrapping_and_a_terminal_state_does_not(
    runs_dir: Path, scripted: Any, stored: list[Any]
) -> None:
    finish(runs_dir, scripted(Script(MIXED)), steps=24, num_envs=2)
    # Episodes 0 (3 steps) and 1 (4 steps) first, then 2 (5 steps) after step 6, 3 after step 8.
    assert [i for i, row in enumerate(stored) if row[4]] == [4, 13, 14]


def test_episodes_are_recorded_as_they_ended_with_the_step_of_all(
    runs_dir: Path, scripted: Any
) -> None:
    outcome, told = run(
        runs_dir, scripted(Script(MIXED, reward=lambda *_: 0.5)), steps=24, num_envs=2
    )
    ended = [e for p in told.all(Progress) for e in p.ended]
    expected = [(0, 6, 1.5, 3), (1, 8, 2.0, 4), (3, 14, 1.5, 3), (2, 16, 2.5, 5)]
    expected += [(4, 22, 2.0, 4)]
    assert [(e.episode, e.env_steps, e.episode_return, e.length) for e in ended] == expected
    assert [e.terminated for e in ended] == [True, False, True, True, False]
    assert isinstance(outcome, Ended)
    rows = read_table(outcome.run / "episodes.csv")
    assert [int(row["episode"]) for row in rows] == [e.episode for e in ended]


def test_each_environment_has_noise_of_its_own_and_the_first_that_of_a_single_one(
    runs_dir: Path, scripted: Any
) -> None:
    still = {"updates_per_step": 0, "exploration_noise": 0.3}
    one, three = (Script([(500, "truncated")], echo=1e-4) for _ in range(2))
    finish(runs_dir, scripted(one), steps=200, learning_starts=100, **still)
    finish(runs_dir, scripted(three), steps=600, learning_starts=300, num_envs=3, **still)
    alone = np.ravel(one.actions)
    slots = np.reshape(three.actions, (200, 3)).T
    # In the warm-up bit for bit; later the actor's product is rounded otherwise for three rows.
    assert np.array_equal(slots[0][:100], alone[:100])
    np.testing.assert_allclose(slots[0], alone, atol=1e-5)
    for part in (slice(0, 100), slice(100, 200)):
        drawn = slots[:, part]
        assert not np.intersect1d(np.round(drawn[0], 6), np.round(drawn[1], 6)).size > 3
        correlation = np.corrcoef(drawn) - np.eye(3)
        assert np.abs(correlation).max() < 0.35


def test_the_streams_of_the_slots_never_change() -> None:
    # Written down once: a change here breaks "same seed, same run" and every resumed run.
    drawn = [generator(0, Purpose.EXPLORATION, slot).integers(0, 1000) for slot in range(4)]
    assert drawn == GOLDEN_SLOTS


GOLDEN_SLOTS = [892, 133, 97, 890]


@pytest.mark.parametrize(
    ("num_envs", "each", "starts", "updates"),
    # The warm-up ends with the step of all that reaches it: at 20, 24 (for 20), 24 and 0.
    [(4, 1, 20, 40), (8, 1, 20, 40), (8, 3, 24, 120), (4, 2, 0, 120), (8, 0, 0, 0), (8, 1, 64, 0)],
)
def test_updates_are_one_for_each_step_beyond_the_warm_up_times_updates_per_step(
    runs_dir: Path, num_envs: int, each: int, starts: int, updates: int
) -> None:
    values = {"updates_per_step": each, "learning_starts": starts, "num_envs": num_envs}
    outcome = finish(runs_dir, steps=60, **values)
    # The run ends with the first step of all that reaches its length.
    assert outcome.env_steps == -(-60 // num_envs) * num_envs
    begins = -(-starts // num_envs) * num_envs
    assert outcome.updates == max(outcome.env_steps - begins, 0) * each == updates


def test_what_is_due_at_a_step_comes_with_the_step_of_all_that_reaches_it(runs_dir: Path) -> None:
    values = {"eval_interval": 20, "checkpoint_interval": 25, "learning_starts": 0}
    outcome, told = run(runs_dir, steps=100, num_envs=7, **values)
    assert isinstance(outcome, Ended)
    assert [e.env_steps for e in told.all(Evaluated)] == [21, 42, 63, 84, 105]
    steps = [s.env_steps for s in told.all(Saved) if s.path.stem.startswith("step")]
    assert steps == [28, 56, 77, 105]
    names = sorted(p.stem for p in (outcome.run / "checkpoints").glob("step*"))
    assert names == [f"step_{step:09d}" for step in steps]
    assert checkpoint.read_header(outcome.last_checkpoint).counters.env_steps == 105
    rows = np.concatenate([p.training for p in told.all(Progress)])
    assert rows[:, :2].tolist() == [[56, 56], [105, 105]]


def test_an_interval_shorter_than_a_step_of_all_falls_due_once(runs_dir: Path) -> None:
    _, told = run(runs_dir, steps=24, num_envs=8, learning_starts=0, eval_interval=2)
    assert [e.env_steps for e in told.all(Evaluated)] == [8, 16, 24]


@pytest.mark.parametrize("num_envs", [1, 4])
def test_the_noise_decays_once_for_each_action_taken_by_any_environment(
    runs_dir: Path, num_envs: int
) -> None:
    fading = {"exploration_noise": 0.2, "exploration_noise_decay": 0.99, "updates_per_step": 0}
    outcome = finish(runs_dir, steps=100, learning_starts=20, num_envs=num_envs, **fading)
    counters = checkpoint.read_header(outcome.last_checkpoint).counters
    assert counters.exploration_noise == pytest.approx(0.2 * 0.99**80, rel=1e-12)


def test_the_statistics_take_in_every_environment_in_the_order_of_the_slots(
    runs_dir: Path, scripted: Any, stored: list[Any]
) -> None:
    def first(obs: Any) -> Any:
        # Numbers whose statistics depend on their order, in the last bits.
        return np.float32([np.sin(obs[0] + 1) * 1e4, np.exp(-obs[0])])

    episodes = [(3, "terminated"), (5, "truncated")]
    script = Script(episodes, first_obs=first)
    outcome = finish(runs_dir, scripted(script), steps=27, num_envs=3, normalize_observations=True)
    expected = Normaliser(2)
    begun = 3
    for episode in range(3):
        expected.observe(first(np.float32([episode, 0])))
    rows = played(episodes, 3, 27)
    for start in range(0, 27, 3):
        for row in stored[start : start + 3]:
            expected.observe(row[3])
        for _ in range(sum(over for *_, over, _ in rows[start : start + 3])):
            expected.observe(first(np.float32([begun, 0])))
            begun += 1
    found = tensors(outcome.last_checkpoint)
    for name, value in expected.state().items():
        assert np.array_equal(found[name], value), name


def test_live_changes_and_a_stop_take_effect_between_two_steps_of_all(
    runs_dir: Path, scripted: Any
) -> None:
    control = Control()
    asked = {26: lambda: control.tune(tiny(tau=0.5)[1]), 37: control.stop}
    script = Script(on_step=lambda step: asked.get(step, lambda: None)())
    outcome, told = run(runs_dir, scripted(script), control=control, num_envs=4, steps=100)
    assert isinstance(outcome, Ended)
    assert [t.env_steps for t in told.all(Tuned)] == [28]
    assert (outcome.stopped, outcome.env_steps, script.steps) == ("user", 40, 40)
    assert checkpoint.read_header(outcome.last_checkpoint).counters.env_steps == 40


def test_a_fault_names_its_step_and_nothing_of_that_step_is_kept(
    runs_dir: Path, scripted: Any
) -> None:
    def broken(_: Any) -> Any:
        raise ValueError("the joint broke")

    # The 30th step taken by any is that of slot 1 in the eighth step of all.
    script = Script([(100, "truncated")], faults={30: broken})
    outcome, _ = fail(runs_dir, scripted(script), num_envs=4)
    assert outcome.env_steps == 28
    assert "ValueError at step 28 (step 7 of episode 1): the joint broke" in str(outcome.message)
    assert checkpoint.read_header(outcome.last_checkpoint).counters.env_steps == 28
    assert script.made == script.closed


def test_the_generators_of_all_slots_are_saved(runs_dir: Path) -> None:
    found = tensors(finish(runs_dir, num_envs=3).last_checkpoint)
    names = {k for k in found if k.startswith(("generator.warm_up", "generator.exploration"))}
    assert names == {
        f"generator.{kind}{slot}"
        for kind in ("warm_up", "exploration")
        for slot in ("", ".1", ".2")
    }
    assert len({found[name].tobytes() for name in names}) == 6


def test_the_same_seed_gives_the_same_run_and_evaluating_does_not_change_it(
    runs_dir: Path,
) -> None:
    values = {"env": "Pendulum-v1", "steps": 600, "num_envs": 4, "learning_starts": 100}
    one, again, watched = (
        finish(runs_dir, **values, eval_interval=every, eval_episodes=1) for every in (0, 0, 150)
    )
    for other in (again, watched):
        assert same(tensors(one.last_checkpoint), tensors(other.last_checkpoint))


def test_rows_acted_on_together_are_acted_on_as_each_alone() -> None:
    policy = make_agent(actor_hidden=(64, 64)).policy()
    obs = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    together = policy(obs)
    assert together.shape == (20, 2)
    np.testing.assert_allclose(together, [policy(row) for row in obs], atol=1e-6)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"env_processes": 2}, "env_processes 2 .*num_envs 1"),
        ({"env_processes": 5, "num_envs": 4}, "env_processes 5 .*num_envs 4"),
        ({"num_envs": 9, "buffer_size": 8}, "num_envs 9 .*buffer_size 8"),
        ({"num_envs": 61}, "num_envs 61 .*steps 60"),
    ],
)
def test_numbers_that_make_no_sense_together_are_refused_before_the_start(
    runs_dir: Path, values: dict[str, int], says: str
) -> None:
    config, tunables = tiny(batch_size=4, **values)
    with pytest.raises(RequestError, match=says):
        check_together(config, tunables)
    outcome, _ = fail(runs_dir, batch_size=4, **values)
    assert outcome.request
    assert not runs_dir.exists()


@pytest.mark.parametrize(
    ("name", "value"), [("num_envs", 0), ("num_envs", 65), ("env_processes", -1)]
)
def test_numbers_out_of_range_are_refused(name: str, value: int) -> None:
    with pytest.raises(RequestError, match=f"{name} cannot be {value}"):
        tiny(**{name: value})
