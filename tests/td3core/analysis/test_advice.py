"""Rules about a run's health: broken by settings that are broken, silent where all is well."""

import csv
from dataclasses import replace
from importlib.resources import files
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.analysis.advice import Health, Rule, load_rules, parse_rule, with_thresholds
from td3core.analysis.saturation import saturation
from td3core.config import make_settings
from td3core.errors import RequestError
from td3core.protocol.events import Evaluated, Progress
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs.directory import RunDirectory
from tests.benchmarks.health import (
    BROKEN,
    OF_AGENTS,
    agent_breaks,
    agent_health,
    agents,
    broken_by,
    kept,
    kept_agents,
    preset_runs,
)
from tests.support.health import progress, row, started
from tests.td3core.helpers import finish, run, same, tensors

CONFIG, TUNABLES = make_settings({"env": "Pendulum-v1"})
BIASES = Path(__file__).parents[2] / "benchmarks" / "overestimation"
RULE = """
order = 1
title = "Too high"
quantity = "q_gap"
above = 2.0
sustained = 2
after = 100
reason = "It is."
advice = "Lower it."
[change]
setting = "critic_lr"
factor = 0.1
"""


def health(*rules: Rule) -> Health:
    found = Health(rules)
    found.take(started(CONFIG, TUNABLES))
    return found


def feed(found: Health, *values: float, first: int = 1_000) -> None:
    rows = [row(first + 50 * i, q_gap=value) for i, value in enumerate(values)]
    found.take(progress(TUNABLES, np.array(rows)))


def evaluated(env_steps: int, bias: float) -> Evaluated:
    return Evaluated(
        env_steps=env_steps,
        returns=(0.0,),
        lengths=(1,),
        seed=0,
        is_best=False,
        wall_s=0.0,
        measured={"bias": bias},
    )


def test_a_rule_is_broken_by_enough_values_in_a_row_and_kept_by_as_many() -> None:
    found = health(parse_rule("high", RULE))
    feed(found, 1.0, 3.0, 1.0, 3.0)
    assert found.advice == ()
    feed(found, 4.0, first=1_200)
    (advice,) = found.advice
    assert (advice.value, advice.env_steps) == (4.0, 1_150)
    assert advice.change is not None
    assert (advice.change.old, advice.change.new) == (3e-4, 3e-5)
    feed(found, 1.0, first=1_250)
    assert found.advice
    feed(found, 1.0, first=1_300)
    assert found.advice == ()


def test_what_is_not_measured_or_too_early_breaks_no_rule() -> None:
    found = health(parse_rule("high", RULE))
    found.take(progress(TUNABLES, np.array([row(50, q_gap=9.0), row(90, q_gap=9.0)])))
    feed(found, np.nan, 9.0, np.nan)
    assert found.advice == ()


def test_the_advice_of_a_resumed_run_begins_anew() -> None:
    found = health(parse_rule("high", RULE))
    feed(found, 9.0, 9.0)
    assert found.advice
    found.take(started(CONFIG, TUNABLES, env_steps=500))
    assert found.advice == ()


def test_an_evaluation_counts_with_the_updates_before_its_step() -> None:
    found = health(parse_rule("high", RULE.replace("q_gap", "bias")))
    found.take(progress(TUNABLES, np.array([row(50), row(1_000), row(2_000), row(3_000)])))
    for step, bias in ((60, 9.0), (1_000, 9.0), (2_000, 0.0), (3_000, 9.0)):
        found.take(evaluated(step, bias))
    assert found.advice == ()
    found.take(evaluated(4_000, 9.0))
    assert [each.env_steps for each in found.advice] == [3_000]


def test_an_evaluation_counts_with_the_updates_of_its_own_step() -> None:
    found = health(parse_rule("high", RULE.replace("q_gap", "bias")))
    found.take(progress(TUNABLES, np.array([row(50), row(1_000)])))
    for step in (1_000, 2_000):
        found.take(evaluated(step, 9.0))
    assert [each.env_steps for each in found.advice] == [1_000]


def test_other_rules_judge_what_is_on_record() -> None:
    rule = parse_rule("high", RULE)
    found = health(rule)
    rows = np.array([row(1_000, q_gap=1.0), row(1_050, q_gap=1.5)])
    found.take(progress(TUNABLES, rows))
    stricter = with_thresholds([rule], {"high": 0.5})
    other = found.judged_by(stricter, rows, np.empty((0, 14)))
    assert [each.env_steps for each in other.advice] == [1_000]
    assert found.advice == ()


def test_a_setting_that_is_as_advised_has_no_change_to_try() -> None:
    rule = parse_rule("high", RULE)
    as_it_is = replace(rule.remedy, setting="tau", factor=None, value=TUNABLES.tau)
    found = health(replace(rule, remedy=as_it_is))
    feed(found, 9.0, 9.0)
    assert found.advice[0].change is None
    assert found.advice[0].as_dict()["setting"] is None


@pytest.mark.parametrize(
    ("setting", "old", "factor", "new"), [("tau", 0.5, 10.0, 1.0), ("policy_delay", 2, 0.1, 1)]
)
def test_an_advised_value_is_one_that_the_setting_allows(
    setting: str, old: float, factor: float, new: float
) -> None:
    remedy = replace(parse_rule("high", RULE).remedy, setting=setting, factor=factor)
    change = remedy.change(CONFIG, replace(TUNABLES, **{setting: old}))
    assert change is not None
    assert (change.old, change.new) == (old, new)


def test_an_algorithm_may_have_a_remedy_of_its_own() -> None:
    other = """
[tqc]
advice = "Leave out more."
[tqc.change]
setting = "dropped_quantiles"
step = 1
"""
    rule = parse_rule("high", RULE + other)
    for algorithm, text, name, new in (
        ("td3", "Lower it.", "critic_lr", 3e-5),
        ("tqc", "Leave out more.", "dropped_quantiles", 3),
    ):
        config, tunables = make_settings({"env": "Pendulum-v1", "algorithm": algorithm})
        found = Health([rule])
        found.take(started(config, tunables))
        feed(found, 9.0, 9.0)
        (advice,) = found.advice
        assert advice.change is not None
        assert (str(advice.text), advice.change.setting, advice.change.new) == (text, name, new)
        assert text in str(advice.in_words())


@pytest.mark.parametrize(
    ("dropped", "quantiles", "advised"),
    [(0, 25, 1), (13, 25, 14), (24, 25, None), (120, 200, 121), (118, 200, 119)],
)
def test_no_more_quantiles_are_dropped_than_there_are(
    dropped: int, quantiles: int, advised: int | None
) -> None:
    (rule,) = (each for each in load_rules() if each.name == "overestimation")
    settings = {"env": "Pendulum-v1", "algorithm": "tqc"}
    settings |= {"quantiles": quantiles, "dropped_quantiles": dropped}
    config, tunables = make_settings(settings)
    change = rule.remedy_for(config).change(config, tunables)
    assert (change.new if change else None) == advised


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("order = 1", "order = 1\ntqc = 1", "not a rule"),
        ("factor = 0.1", "factor = 0.1\n[tqc]\nadvise = 1", "advise is unknown"),
        ("factor = 0.1", 'factor = 0.1\n[tqc]\nadvice = "Do."', "change is missing"),
        ("above = 2.0", "above = 2.0\nbelow = 1.0", "either above or below"),
        ('quantity = "q_gap"', 'quantity = "q_gap2"', "q_gap2 is not recorded"),
        ('"critic_lr"', '"critic_rate"', "critic_rate is no setting"),
        ("factor = 0.1", "", "needs a setting, and a factor, a step or a value"),
        ("order = 1", "orders = 1", "orders is unknown"),
        ('title = "Too high"', "", "title is missing"),
        ("order = 1", "at_least = { tua = 0.1 }", "tua is no live setting"),
        ("order = 1", "at_least = 3", "not a rule"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_in_a_sentence(old: str, new: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        parse_rule("high", RULE.replace(old, new))


def test_a_rule_is_silent_where_its_quantity_says_nothing() -> None:
    rule = parse_rule("high", RULE.replace("order = 1", "order = 1\nat_least = { tau = 0.1 }"))
    found = health(rule)
    feed(found, 3.0, 4.0)
    assert (found.advice, found.broken) == ((), ())
    found.take(progress(replace(TUNABLES, tau=0.1), np.array([row(2_000, q_gap=5.0)])))
    assert [advice.rule for advice in found.advice] == [*found.broken] == [rule]


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_really_broken_setting_breaks_its_rule(name: str) -> None:
    assert name in broken_by(name)


@pytest.mark.parametrize("name", preset_runs())
def test_the_rules_are_silent_on_the_presets(name: str) -> None:
    assert broken_by(name) == set()


def test_what_the_rules_say_of_the_presets_is_what_their_runs_did() -> None:
    said = {rule.name: " ".join(str(rule.reason).split()) for rule in load_rules()}
    low, high = extremes("critic_rank", 1_000), extremes("critic1_lag", 1_000)
    assert f"stay above {floor(100 * low[0])} %." in said["rank_collapsed"]
    lag = f"{floor(1_000 * high[0]) / 10} % to {ceil(100 * high[1])} % behind"
    assert lag in said["target_missing"]
    assert f"at most {ceil(100 * high[1])} % behind" in said["target_stale"]
    for rule in ("actor_dead", "critic_dead"):
        most = ceil(100 * extremes(rule, 1_000)[1])
        rest = ceil(100 * extremes(rule, 1_000, without="MountainCarContinuous-v0")[1])
        assert f"at most {most} % are dead (MountainCarContinuous-v0" in said[rule]
        assert f"in the others at most {rest} %." in said[rule]
    assert f"up to {ceil(100 * extremes('saturated', 5_000)[1])} %" in said["actor_saturated"]
    hopper = kept("Hopper-v5")[:, TRAINING_COLUMNS.index("saturated")]
    assert "limits in all states after 1,000 updates" in said["actor_saturated"]
    known = hopper[np.isfinite(hopper)]
    assert known[0] == 1.0 > known[1:].max()
    assert "stay above 0.01." in said["actor_without_gradient"]
    assert extremes("actor_gradient", 5_000)[0] > 0.01
    assert "stay above 0.0001 from 5,000 updates on" in said["policy_still"]
    assert extremes("policy_change", 5_000)[0] > 0.0001


def extremes(quantity: str, after: int, without: str = "-") -> tuple[float, float]:
    """Return the least and the largest value in the kept runs of presets from an update on."""
    tables = [kept(name) for name in preset_runs() if not name.startswith(without)]
    updates, column = (TRAINING_COLUMNS.index(name) for name in ("updates", quantity))
    found = np.concatenate([rows[rows[:, updates] >= after, column] for rows in tables])
    return float(np.nanmin(found)), float(np.nanmax(found))


def test_the_rules_are_silent_on_the_bundled_agents() -> None:
    # Their runs have left evaluations and networks: what these are like, played again.
    assert {name: agent_breaks(values) for name, values in kept_agents().items()} == {
        name: set() for name in kept_agents()
    }
    folder = Path(str(files("resources") / "agents"))
    bundled = {path.relative_to(folder).with_suffix("").as_posix() for path in agents()}
    # Nothing but what needs a simulator that is not installed everywhere may be missing.
    assert {name for name in bundled - kept_agents().keys() if "Bullet" not in name} == set()
    broken = kept_agents()["Pendulum-v1"] | {"critic_rank": 0.01}
    assert agent_breaks(broken) == {"rank_collapsed"}


def test_what_is_kept_of_a_bundled_agent_is_what_is_measured_of_it() -> None:
    path = Path(str(files("resources") / "agents" / "Pendulum-v1.safetensors"))
    found = agent_health(path)
    assert found.keys() == set(OF_AGENTS)
    for name, value in found.items():
        assert value == pytest.approx(kept_agents()["Pendulum-v1"][name], rel=0.05, abs=0.02), name


def test_an_explanation_counts_instead_of_each_rule_that_it_names() -> None:
    rules = [
        replace(parse_rule(name, RULE), unless=("first", "second") if name == "other" else ())
        for name in ("first", "second", "other")
    ]
    for broken, shown in (
        ({"other"}, {"other"}),
        ({"other", "first"}, {"first"}),
        ({"other", "second"}, {"second"}),
    ):
        chosen = [replace(r, threshold=2.0 if r.name in broken else 1e9) for r in rules]
        found = health(*chosen)
        feed(found, 9.0, 9.0)
        assert {each.rule.name for each in found.advice} == shown


def biases(env: str, algorithm: str) -> list[dict[str, str]]:
    with (BIASES / f"{env}.csv").open() as file:
        return [r for r in csv.DictReader(file) if r["algorithm"] == algorithm and r["bias"]]


def biased(env: str, algorithm: str) -> set[str]:
    rows, seen = biases(env, algorithm), set[str]()
    for seed in {each["seed"] for each in rows}:
        found = health(*load_rules())
        for each in (r for r in rows if r["seed"] == seed):
            step = int(each["env_steps"])
            found.take(progress(TUNABLES, row(step)[None]))
            found.take(evaluated(step, float(each["bias"])))
            seen |= {advice.rule.name for advice in found.advice}
    return seen


def test_the_critics_of_ddpg_on_hopper_promise_too_much_and_those_of_td3_do_not() -> None:
    assert biased("Hopper-v5", "ddpg") == {"overestimation"}
    assert biased("Hopper-v5", "td3") == biased("Pendulum-v1", "td3") == set()
    (rule,) = (each for each in load_rules() if each.name == "overestimation")
    assert "stayed below 1 over three seeds each; DDPG on Hopper-v5 did not." in str(rule.reason)
    for env, algorithm, below in (
        ("Pendulum-v1", "td3", True),
        ("Hopper-v5", "td3", True),
        ("Hopper-v5", "ddpg", False),
    ):
        rows = biases(env, algorithm)
        assert len({row["seed"] for row in rows}) == 3
        assert (max(float(row["bias"]) for row in rows) < 1) == below


def test_rewards_that_vanish_are_noticed(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("td3core.training.trainer.HEALTH_STEPS", 50)
    rules = [replace(rule, after=0) for rule in load_rules()]
    for scale, expected in ((1e-6, {"no_reward"}), (1.0, set())):
        _, told = run(runs_dir, steps=200, reward_scale=scale)
        found = Health([rule for rule in rules if rule.name == "no_reward"])
        for event in told.events:
            found.take(event)
        assert {advice.rule.name for advice in found.advice} == expected


def test_every_rule_has_evidence_and_a_change_that_can_be_made() -> None:
    rules = load_rules()
    assert {rule.name for rule in rules} == {*BROKEN, "overestimation", "no_reward"}
    for rule in rules:
        assert str(rule.reason).endswith(".")
        for remedy in (rule.remedy, *rule.of_algorithm.values()):
            assert str(remedy.advice).endswith(".")
            assert remedy.change(CONFIG, TUNABLES) is not None or remedy.value is not None


def test_measuring_and_judging_change_no_digit_of_a_run(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def last(every: int, react: Any) -> dict[str, Any]:
        monkeypatch.setattr("td3core.training.trainer.HEALTH_STEPS", every)
        outcome, told = run(runs_dir, steps=300, react=react)
        assert told.all(Progress)
        return tensors(outcome.run / "checkpoints" / "last.safetensors")  # type: ignore[operator]

    found = Health(load_rules())
    assert same(last(10, found.take), last(10**9, lambda event: None))


def test_saturation_is_told_apart_by_dimension(runs_dir: Path) -> None:
    last = RunDirectory.open(finish(runs_dir, steps=60).run).last
    saved = checkpoint.load(last)
    width = saved.header.env.act_dim
    output = max(name for name in saved.tensors if name.startswith("actor.") and "bias" in name)
    arrays = {name: array.copy() for name, array in saved.tensors.items()}
    arrays[output.replace("bias", "weight")][:] = 0.0
    arrays[output][:] = [9.0] + [0.0] * (width - 1)
    checkpoint.save(last, saved.header, arrays)
    assert saturation(last).tolist() == [1.0] + [0.0] * (width - 1)
    last.parent.parent.joinpath("replay.f32").unlink()
    with pytest.raises(RequestError, match="cannot be read"):
        saturation(last)
