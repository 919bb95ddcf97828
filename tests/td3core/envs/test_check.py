"""The checks of an environment and their findings: on request, and before a run."""

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from td3core.cli import app
from td3core.config.env_choice import EnvChoice
from td3core.envs.catalogue import KNOWN, KnownEnv
from td3core.envs.check.examine import examine
from td3core.envs.check.gymnasium_check import run_gymnasium_check
from td3core.envs.check.report import CheckReport, Level
from td3core.errors import RequestError
from td3core.protocol.events import Ended, Started, Warned
from tests.support.scripted import DISCRETE, GRID, STEPS
from tests.td3core.helpers import fail, run

Outcome = tuple[Any, Any, bool, bool, dict[str, Any]]


class Odd(gym.Env[Any, Any]):
    """Ten seeded steps without a fault; subclasses spoil one thing each."""

    action_space = Box(-1.0, 1.0, (2,))
    observation_space = Box(-5.0, 5.0, (3,))
    length = 10

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self.obs(), {}

    def step(self, action: Any) -> Outcome:
        self.count += 1
        return self.obs(), self.reward(), self.count == self.length, False, {}

    def obs(self) -> Any:
        return self.np_random.uniform(-1.0, 1.0, 3).astype(np.float32)

    def reward(self) -> Any:
        return 1.0


class Double(Odd):
    def obs(self) -> Any:
        return super().obs().astype(np.float64)


class Short(Odd):
    def obs(self) -> Any:
        return super().obs()[:2]


class LaterShort(Odd):
    def obs(self) -> Any:
        return super().obs().astype(np.float64)[: 2 if self.count == 4 else 3]


class Words(Odd):
    def obs(self) -> Any:
        return ["left", "right", "up"]


class Outside(Odd):
    def obs(self) -> Any:
        return super().obs() + np.float32(7.0)


class NotANumber(Odd):
    def obs(self) -> Any:
        return super().obs() * np.float32(np.nan if self.count == 7 else 1.0)


class TooLarge(Odd):
    observation_space = Box(-1e300, 1e300, (3,), np.float64)

    def obs(self) -> Any:
        return super().obs().astype(np.float64) * 1e60


class Huge(Odd):
    observation_space = Box(-1e9, 1e9, (3,))

    def obs(self) -> Any:
        return super().obs() * np.float32(1e6)


class Moody(Odd):
    mood = np.random.default_rng()

    def obs(self) -> Any:
        return self.mood.uniform(-1.0, 1.0, 3).astype(np.float32)


class MoodyReward(Odd):
    mood = np.random.default_rng()

    def reward(self) -> Any:
        return float(self.mood.uniform())


class Endless(Odd):
    length = 10**9


class Rich(Odd):
    def reward(self) -> Any:
        return 1e6


class Poor(Odd):
    def reward(self) -> Any:
        return 1e-7


class Penniless(Odd):
    def reward(self) -> Any:
        return float("inf") if self.count == 4 else 1.0


class Worthless(Odd):
    def reward(self) -> Any:
        return float("nan") if self.count == 4 else 1.0


class Wordy(Odd):
    def reward(self) -> Any:
        return "much"


class Broken(Odd):
    def step(self, action: Any) -> Outcome:
        if self.count == 4:
            raise ZeroDivisionError("the joint broke")
        return super().step(action)


class OldFashioned(Odd):
    def step(self, action: Any) -> Any:
        return super().step(action)[:4]


class ObservationOnly(Odd):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)[0]


class TwoNumbers(ObservationOnly):
    observation_space = Box(-5.0, 5.0, (2,))

    def obs(self) -> Any:
        return super().obs()[:2]


class PairOfNumbers(Odd):
    observation_space = Box(-5.0, 5.0, (2,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return 0.0, 0.0


class ThreeParts(Odd):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return *super().reset(seed=seed), 0.0


class LaterObservationOnly(Odd):
    episodes = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.episodes += 1
        both = super().reset(seed=seed)
        return both if self.episodes == 1 else both[0]


class ManyEnds(Odd):
    def step(self, action: Any) -> Outcome:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, np.array([terminated] * 2), truncated, info  # type: ignore[return-value]


class ManyLimits(Odd):
    def step(self, action: Any) -> Outcome:
        obs, reward, _, truncated, info = super().step(action)
        return obs, reward, True, np.array([truncated] * 2), info  # type: ignore[return-value]


class Tensor:
    """What can neither be counted nor judged, as a tensor of several elements on a device."""

    def __float__(self) -> float:
        raise RuntimeError("more than one element")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("on a device")


class ManyRewards(Odd):
    def reward(self) -> Any:
        return Tensor()


class OnADevice(Odd):
    def obs(self) -> Any:
        return Tensor()


class Numeric(Odd):
    def step(self, action: Any) -> Outcome:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, int(terminated), truncated, info  # type: ignore[return-value]


class Wide(Odd):
    action_space = Box(np.float32([-1.0, -1e6]), np.float32([1.0, 1e6]))


class Narrow(Odd):
    action_space = Box(np.float32([-1e-5, -1.0]), np.float32([1e-5, 1.0]))


class Picture(Odd):
    observation_space = Box(0, 255, (96, 96, 3), np.uint8)

    def obs(self) -> Any:
        return self.np_random.integers(0, 255, (96, 96, 3), dtype=np.uint8)


class Truths(Odd):
    observation_space = Box(0, 1, (3,), np.bool_)

    def obs(self) -> Any:
        return super().obs() > 0


@pytest.fixture
def named() -> Any:
    """Register a class for the length of a test, and return its id."""
    ids = []

    def register(kind: type[gym.Env[Any, Any]]) -> str:
        ids.append(f"Odd/{kind.__name__}-v0")
        gym.register(ids[-1], kind)
        return ids[-1]

    yield register
    for env_id in ids:
        gym.registry.pop(env_id)


def told(report: CheckReport, level: Level) -> dict[str, str]:
    return {str(each.check): str(each.message) for each in report.findings if each.level is level}


FAULTS: list[tuple[type[Odd], Level, str, str]] = [
    (Double, Level.WARNING, "shape", ".astype(np.float32) makes them agree"),
    (Short, Level.ERROR, "shape", "at reset has shape (2,), but the space declares (3,)"),
    (LaterShort, Level.ERROR, "shape", "at random step 4 has shape (2,), but the space declares"),
    (Words, Level.ERROR, "shape", "at reset is not numeric"),
    (Outside, Level.WARNING, "values", "outside the bounds"),
    (NotANumber, Level.ERROR, "values", "random step 7 contains nan"),
    (TooLarge, Level.ERROR, "values", "finite float32"),
    (Huge, Level.WARNING, "values", "consider normalize_observations"),
    (Moody, Level.WARNING, "repeatable", "different results from reset on"),
    (MoodyReward, Level.WARNING, "repeatable", "different results from random step 1 on"),
    (Endless, Level.WARNING, "episodes", '{"max_episode_steps": 1000}'),
    (Rich, Level.WARNING, "rewards", "consider reward_scale"),
    (Poor, Level.WARNING, "rewards", "Rewards are small"),
    (Penniless, Level.ERROR, "rewards", "random step 4 is inf"),
    (Worthless, Level.ERROR, "rewards", "random step 4 is nan"),
    (Wordy, Level.ERROR, "steps", "random step 1 is not a number"),
    (Broken, Level.ERROR, "steps", "at random step 5 (test_check.py, line"),
    (OldFashioned, Level.ERROR, "steps", "4 values instead of observation, reward"),
    (ObservationOnly, Level.ERROR, "steps", "reset() returned ndarray instead of observation and"),
    (TwoNumbers, Level.ERROR, "steps", "reset() returned ndarray instead of observation and info"),
    (PairOfNumbers, Level.ERROR, "steps", "reset() returned float instead of a dictionary as info"),
    (ThreeParts, Level.ERROR, "steps", "reset() returned 3 values instead of observation and info"),
    (LaterObservationOnly, Level.ERROR, "steps", "reset() returned ndarray instead of"),
    (ManyEnds, Level.ERROR, "steps", "terminated of random step 1 is neither true nor false"),
    (ManyLimits, Level.ERROR, "steps", "truncated of random step 1 is neither true nor false"),
    (ManyRewards, Level.ERROR, "steps", "reward of random step 1 is not a number"),
    (OnADevice, Level.ERROR, "steps", "observation is not an array of numbers"),
    (Wide, Level.WARNING, "actions", "action 1, -1e+06 to 1e+06, is very wide"),
    (Narrow, Level.WARNING, "actions", "action 0, -1e-05 to 1e-05, is very narrow"),
    (Picture, Level.WARNING, "observations", "27,648 numbers"),
]


@pytest.mark.parametrize(
    ("kind", "level", "check", "says"), FAULTS, ids=[fault[0].__name__ for fault in FAULTS]
)
def test_a_fault_is_found_and_said_in_a_sentence(
    named: Any, kind: type[Odd], level: Level, check: str, says: str
) -> None:
    report = examine(EnvChoice(named(kind)), thorough=False)
    assert says in told(report, level)[check]
    assert all(str(each.message).endswith(".") for each in report.findings)
    if kind is not Picture:
        others = {str(each.check) for each in report.findings if each.level is not Level.OK}
        assert others == {check}, "one fault is one finding"


@pytest.mark.parametrize("kind", [Odd, Truths])
def test_a_sound_environment_is_found_sound(named: Any, kind: type[Odd]) -> None:
    report = examine(EnvChoice(named(kind)))
    assert [each for each in report.findings if each.level is not Level.OK] == []
    assert "ended after 10 steps" in told(report, Level.OK)["episodes"]
    assert "2 actions, each from -1 to 1" in told(report, Level.OK)["actions"]


@pytest.mark.parametrize("known", [k for k in KNOWN if k.installed], ids=lambda k: k.env_id)
def test_the_known_environments_pass_without_an_error(known: KnownEnv) -> None:
    report = examine(EnvChoice(known.env_id))
    assert told(report, Level.ERROR) == {}
    # PyBullet's still have a method that Gymnasium has given up.
    expected = {"values", "Gymnasium's check"} if known.group == "PyBullet" else {"values"}
    if known.env_id == "PusherBulletEnv-v0":
        # Rarely, its physics give other results from the same seed.
        expected.add("repeatable")
    assert set(told(report, Level.WARNING)) <= expected


def test_a_time_limit_given_as_an_argument_ends_an_endless_environment(named: Any) -> None:
    report = examine(EnvChoice(named(Endless), '{"max_episode_steps": 50}'), thorough=False)
    assert told(report, Level.OK)["episodes"] == "Episodes end after 50 steps at most."


def test_what_gymnasium_complains_of_is_collected_and_not_printed(
    named: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = examine(EnvChoice(named(Numeric)))
        refused = examine(EnvChoice(named(Outside)))
    assert "`terminated` signal to be a boolean" in told(report, Level.WARNING)["Gymnasium's check"]
    # A run on it does not fail.
    assert "Gymnasium's check" in told(refused, Level.WARNING)
    assert "\x1b" not in str(report)
    assert capfd.readouterr() == ("", "")


def test_what_training_does_not_mind_is_no_error(named: Any) -> None:
    report = examine(EnvChoice(named(Double)))
    assert told(report, Level.ERROR) == {}
    assert set(told(report, Level.WARNING)) == {"shape", "Gymnasium's check"}


def test_gymnasiums_own_level_of_warnings_comes_back(named: Any) -> None:
    before = gym.logger.min_level
    env = gym.make(named(Outside), disable_env_checker=True)
    assert run_gymnasium_check(env.unwrapped)[1] != ""
    assert gym.logger.min_level == before


def test_an_environment_that_td3_cannot_be_used_on_is_refused() -> None:
    with pytest.raises(RequestError, match="discrete actions"):
        examine(EnvChoice(DISCRETE))


# On the command line -----------------------------------------------------------------------------


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    status = app.main(["check", *words, "--json"])
    return status, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_command_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = check(capsys, "BipedalWalker-v3")
    assert (status, found["errors"], found["warnings"]) == (0, 0, 0)
    sizes = {key: found[key] for key in ("obs_dim", "act_dim", "max_episode_steps")}
    assert sizes == {"obs_dim": 24, "act_dim": 4, "max_episode_steps": 1600}
    assert (found["reward_threshold"], found["env_args"]) == (300, {})
    assert {each["level"] for each in found["findings"]} == {"ok"}
    _, quick = check(capsys, "BipedalWalker-v3", "--quick")
    names = [{each["check"] for each in report["findings"]} for report in (found, quick)]
    assert names[0] - names[1] == {"Gymnasium's check"}


def test_an_error_is_status_one_and_a_wrong_request_two(
    named: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = check(capsys, named(NotANumber))
    assert status == 1
    assert found["errors"] >= 1
    for words in (["CartPole-v1"], ["Pendulum-v1", "--set", "tau=1"], ["Nothing-v0"]):
        assert app.main(["check", *words]) == 2
        assert capsys.readouterr().err.startswith("td3-studio: ")


def test_people_read_a_line_for_each_finding(
    named: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["check", named(Huge), "--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert [line.split()[1] for line in lines if line.startswith("warning")] == ["values"]


def test_the_arguments_are_given_as_to_train(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = check(capsys, "Pendulum-v1", "--set", 'env_args={"max_episode_steps": 50}')
    assert (found["max_episode_steps"], found["env_args"]) == (50, {"max_episode_steps": 50})


# Before a run ------------------------------------------------------------------------------------


def test_a_run_on_an_unknown_environment_says_what_is_odd_and_goes_on(
    named: Any, runs_dir: Path
) -> None:
    env = named(Huge)
    outcome, said = run(runs_dir, env, env_check=True)
    assert isinstance(outcome, Ended)
    (warned,) = said.all(Warned)
    assert str(warned.message).startswith(f"{env}: Observations reach")
    assert said.events.index(warned) < said.events.index(said.all(Started)[0])


def test_an_error_stops_a_run_before_anything_is_written(named: Any, runs_dir: Path) -> None:
    failed, said = fail(runs_dir, named(NotANumber), env_check=True)
    assert failed.request
    assert "cannot be trained on: The observation at random step 7 contains nan" in str(
        failed.message
    )
    assert said.all(Started) == []
    assert not runs_dir.exists()


@pytest.mark.parametrize("kind", [ObservationOnly, ManyEnds])
def test_a_run_is_refused_on_what_does_not_follow_gymnasium(
    named: Any, runs_dir: Path, kind: type[Odd]
) -> None:
    failed, _ = fail(runs_dir, named(kind), env_check=True)
    assert failed.request
    assert f"{kind.__name__}-v0 cannot be trained on: " in str(failed.message)
    assert not runs_dir.exists()


def test_truth_values_are_learned_from_as_numbers(named: Any, runs_dir: Path) -> None:
    outcome, told_of = run(runs_dir, named(Truths), env_check=True, normalize_observations=True)
    assert isinstance(outcome, Ended), outcome
    assert outcome.updates > 0
    assert told_of.all(Warned) == []


def test_it_can_be_switched_off(named: Any, runs_dir: Path) -> None:
    outcome, said = run(runs_dir, named(Huge), env_check=False)
    assert isinstance(outcome, Ended)
    assert said.all(Warned) == []


def test_known_environments_are_only_tried_when_made_otherwise(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[EnvChoice] = []

    def examine_nothing(choice: EnvChoice, **_: Any) -> CheckReport:
        tried.append(choice)
        return CheckReport(None, ())  # type: ignore[arg-type]

    monkeypatch.setattr("td3core.envs.check.examine.examine", examine_nothing)
    for args in ("", '{"g": 9.0}'):
        run(runs_dir, "Pendulum-v1", env_check=True, steps=20, env_args=args)
    assert [choice.args for choice in tried] == ['{"g": 9.0}']


def test_being_tried_first_changes_nothing_in_the_run(runs_dir: Path) -> None:
    from td3core import checkpoint

    endings = [run(runs_dir, STEPS, env_check=tried)[0] for tried in (True, False)]
    one, other = (checkpoint.load(e.last_checkpoint).tensors for e in endings)
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_spaces_of_more_than_one_dimension_are_judged_too() -> None:
    report = examine(EnvChoice(GRID), thorough=False)
    assert told(report, Level.ERROR) == {}
