"""The sweep file: what it may hold, and one sentence for every mistake."""

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from td3core.config import check_together
from td3core.errors import RequestError
from td3core.experiments.sweeps.file import parse
from td3core.experiments.sweeps.launch import bundled_sweeps, read_sweep_file
from td3core.experiments.sweeps.spec import Choices, Range, SweepSpec

SPACE = {"actor_lr": {"low": 1e-5, "high": 1e-2, "log": True}}


def spec(**fields: object) -> SweepSpec:
    found = {"environment": "Pendulum-v1", "space": SPACE} | fields
    return parse(tomli_w.dumps({k: v for k, v in found.items() if v is not None}), "file")


def refusal(**fields: object) -> str:
    with pytest.raises(RequestError) as caught:
        spec(**fields)
    return str(caught.value)


def test_what_a_file_leaves_out_has_a_default() -> None:
    found = spec()
    assert (found.name, found.trials, found.seeds, found.steps) == ("file", 20, (0,), 20_000)
    assert (found.objective, found.sampler, found.pruning) == ("last_eval", "tpe", "none")


def test_ranges_take_the_type_of_their_setting() -> None:
    found = spec(
        space={
            "tau": {"low": 0, "high": 1, "step": 0.25},
            "batch_size": {"low": 32, "high": 256, "log": True},
            "actor_hidden": {"choices": [[64, 64], [32]]},
            "twin_critics": {"choices": [True, False]},
        }
    )
    assert found.space["tau"] == Range(low=0.0, high=1.0, step=0.25)
    assert found.space["batch_size"] == Range(low=32, high=256, whole=True, log=True)
    assert found.space["actor_hidden"] == Choices(values=((64, 64), (32,)))
    assert found.space["twin_critics"] == Choices(values=(True, False))


def test_a_run_takes_preset_then_settings_then_the_trial() -> None:
    found = spec(settings={"tau": 0.5, "learning_starts": 50}, steps=5000)
    config, tunables = found.run_settings({"actor_lr": 0.125}, 7)
    assert (config.seed, config.steps, config.learning_starts) == (7, 5000, 50)
    assert (tunables.tau, tunables.actor_lr, tunables.gamma) == (0.5, 0.125, 0.98)
    assert config.actor_hidden == (64, 64)
    assert config.threads == 1


@pytest.mark.parametrize(
    ("name", "algorithms", "fine"),
    [
        ("dropped_quantiles", ["td3"], False),
        ("dropped_quantiles", ["td3", "ddpg"], False),
        ("dropped_quantiles", ["td3", "tqc"], True),
        ("policy_delay", ["ddpg"], False),
        ("policy_delay", ["td3"], True),
    ],
)
def test_a_setting_that_makes_no_difference_is_not_searched(
    name: str, algorithms: list[str], fine: bool
) -> None:
    searched = {name: {"low": 1, "high": 4}}
    if len(algorithms) == 1:
        fields: dict[str, object] = {"space": searched, "settings": {"algorithm": algorithms[0]}}
    else:
        fields = {"space": searched | {"algorithm": {"choices": algorithms}}}
    if fine:
        assert name in spec(**fields).space
    else:
        said = f"space cannot contain {name}; it makes no difference with algorithm"
        assert refusal(**fields) == f"{said} {', '.join(algorithms)}."
    # One that an earlier version began can still be shown and continued.
    text = tomli_w.dumps({"environment": "Pendulum-v1", **fields})
    assert name in parse(text, "file", begun=True).space


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [({}, {"policy_delay": 3}), ({"policy_delay": 3}, {})],
    ids=["searched", "set"],
)
def test_a_setting_that_the_algorithm_of_a_trial_fixes_is_left_to_it(
    settings: dict[str, object], chosen: dict[str, object]
) -> None:
    space: dict[str, object] = {"algorithm": {"choices": ["td3", "ddpg"]}}
    space |= {name: {"low": 1, "high": 4} for name in chosen}
    found = spec(settings=settings, space=space)
    for algorithm, delay in (("td3", 3), ("ddpg", 1)):
        config, tunables = found.run_settings({"algorithm": algorithm} | chosen, 0)
        check_together(config, tunables)
        assert tunables.policy_delay == delay


@pytest.mark.parametrize("name", bundled_sweeps())
def test_a_bundled_sweep_describes_runs_that_can_start(name: str) -> None:
    _, found = read_sweep_file(name)
    first = {key: found.values_of(key)[0] for key in found.space}
    check_together(*found.run_settings(first, 0))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"trails": 3}, ["field of a sweep", "'trails'", "trials"]),
        ({"environment": None}, ["environment is missing"]),
        ({"environment": 3}, ["environment cannot be 3"]),
        ({"environment": "my_module:Env-v0"}, ["module", "--env-module"]),
        ({"preset": "none-such"}, ["preset", "none-such"]),
        ({"name": "../up"}, ["name cannot be '../up'", "letters"]),
        ({"trials": 0}, ["trials cannot be 0", "1 to"]),
        ({"trials": True}, ["trials cannot be True"]),
        ({"seeds": []}, ["seeds cannot be []"]),
        ({"seeds": [1, 1]}, ["seeds", "different"]),
        ({"objective": "reward"}, ["objective cannot be 'reward'", "last_eval", "area"]),
        ({"sampler": "bayes"}, ["sampler", "tpe, random, grid, cmaes"]),
        ({"pruning": "hyperband"}, ["pruning", "none, median, asha"]),
        ({"jobs": -1}, ["jobs cannot be -1"]),
        ({"time_limit_min": -1}, ["time_limit_min"]),
        ({"steps": 1000}, ["steps is 1000", "warm-up", "learning_starts 1000"]),
        ({"settings": {"eval_interval": 0}}, ["last_eval needs evaluations", "eval_interval is 0"]),
        ({"settings": {"eval_interval": 99_999}}, ["eval_interval is 99999", "20000"]),
        ({"settings": {"actor_lr": 0.1}}, ["actor_lr is in settings and in space"]),
        ({"settings": {"seed": 1}}, ["settings cannot contain seed", "seeds"]),
        ({"settings": {"taw": 1}}, ["setting", "'taw'", "tau"]),
        ({"settings": {"tau": 7}}, ["tau cannot be 7", "0 to 1"]),
        ({"settings": 3}, ["settings cannot be 3"]),
        ({"space": None}, ["space is missing"]),
        ({"space": {}}, ["space has 0 settings"]),
        ({"space": {"steps": {"low": 1, "high": 2}}}, ["space cannot contain steps"]),
        ({"space": {"taw": {"low": 0, "high": 1}}}, ["setting", "'taw'"]),
        ({"space": {"tau": 0.1}}, ["space.tau cannot be 0.1", "low and high"]),
        ({"space": {"tau": {"low": 0.1}}}, ["space.tau.high is missing"]),
        ({"space": {"tau": {"low": "a", "high": 1}}}, ["space.tau.low cannot be 'a'"]),
        ({"space": {"tau": {"min": 0, "high": 1}}}, ["field of space.tau", "'min'"]),
        ({"space": {"tau": {"low": 0.5, "high": 0.1}}}, ["space.tau.low is 0.5", "0.1"]),
        ({"space": {"tau": {"low": 0, "high": 7}}}, ["tau cannot be 7", "0 to 1"]),
        ({"space": {"tau": {"low": 0, "high": 1, "log": True}}}, ["space.tau.low is 0", "log"]),
        ({"space": {"tau": {"low": 0, "high": 1, "log": "yes"}}}, ["log cannot be 'yes'"]),
        ({"space": {"tau": {"low": 0, "high": 1, "step": 2}}}, ["step cannot be 2", "at most 1"]),
        (
            {"space": {"tau": {"low": 0, "high": 1, "step": 1e-310}}},
            ["at least 1e-15 and at most 1"],
        ),
        (
            {"space": {"tau": {"low": 0, "high": 1, "step": 1e-310}}, "sampler": "grid"},
            ["step cannot be 1e-310"],
        ),
        (
            {"space": {"tau": {"low": 0.1, "high": 1, "step": 0.1, "log": True}}},
            ["step or log, not both"],
        ),
        ({"space": {"policy_delay": {"low": 1, "high": 2.5}}}, ["policy_delay cannot be 2.5"]),
        ({"space": {"actor_hidden": {"low": 1, "high": 2}}}, ["actor_hidden", "choices"]),
        ({"space": {"tau": {"choices": []}}}, ["space.tau.choices cannot be []"]),
        ({"space": {"tau": {"choices": [0.1, "x"]}}}, ["tau cannot be 'x'"]),
        ({"space": {"tau": {"choices": [0.1, 0.1]}}}, ["holds 0.1 twice"]),
        ({"space": {"tau": {"choices": [0.1], "low": 0}}}, ["takes nothing else"]),
        ({"space": {"eval_interval": {"low": 0, "high": 9}}}, ["eval_interval is 0"]),
        ({"space": {"learning_starts": {"low": 0, "high": 20_000}}}, ["learning_starts 20000"]),
        ({"sampler": "grid"}, ["grid needs points or step for space.actor_lr"]),
        ({"sampler": "cmaes"}, ["cmaes needs at least two"]),
        (
            {"space": {"tau": {"low": 0, "high": 1, "points": 3}}},
            ["points is for the sampler grid"],
        ),
        (
            {"sampler": "grid", "space": {"seed": {"low": 0, "high": 1}}},
            ["space cannot contain seed"],
        ),
        (
            {"sampler": "grid", "space": {"buffer_size": {"low": 1, "high": 100_000_000}}},
            ["grid of", "at most 100000"],
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_the_field(
    fields: dict[str, object], words: list[str]
) -> None:
    sentence = refusal(**fields)
    assert all(word in sentence for word in words), sentence
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence


def test_a_text_that_is_no_toml_is_refused() -> None:
    with pytest.raises(RequestError, match="not a sweep file"):
        parse("space = [", "x")


def test_a_grid_has_as_many_trials_as_points_at_most() -> None:
    space = {
        "tau": {"low": 0.0, "high": 0.3, "step": 0.1},
        "gamma": {"choices": [0.9, 0.99]},
        "critic_lr": {"low": 1e-4, "high": 1e-2, "log": True, "points": 3},
    }
    found = spec(sampler="grid", space=space)
    assert found.trials == 4 * 2 * 3
    assert spec(sampler="grid", space=space, trials=5).trials == 5
    assert spec(sampler="grid", space=space, trials=99).trials == 4 * 2 * 3
    assert found.space["critic_lr"].grid() == pytest.approx((1e-4, 1e-3, 1e-2))
    assert found.space["critic_lr"].grid()[-1] == 1e-2


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=5,
).filter(lambda value: value is not None)
searched = st.sampled_from(["tau", "policy_delay", "actor_hidden", "env_args"])
known = st.sampled_from(["name", "environment", "preset", "trials", "seeds", "steps", "sampler"])
ranges = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("low", "high", "log", "step", "points", "choices"), json_like),
)


def without_none(value: object) -> object:
    if isinstance(value, dict):
        return {k: without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_none(each) for each in value if each is not None]
    return value


@given(st.text(max_size=200))
@pytest.mark.slow
def test_any_text_that_describes_no_sweep_is_refused(text: str) -> None:
    with pytest.raises(RequestError):
        parse(text, "x")


@given(st.floats(1e-6, 0.4), st.floats(0.5, 1.0), st.integers(2, 40), st.booleans())
def test_the_values_of_a_grid_lie_within_its_range(
    low: float, high: float, points: int, log: bool
) -> None:
    values = Range(low=low, high=high, log=log, points=points).grid()
    assert values[0] == low
    assert values[-1] == high
    assert list(values) == sorted(set(values))
    assert len(values) == points
