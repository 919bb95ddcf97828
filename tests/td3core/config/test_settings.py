import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.config import (
    RunConfig,
    Tunables,
    changes,
    check_together,
    default,
    make_settings,
    parse_value,
    spec,
    specs,
    to_dict,
    type_words,
)
from td3core.config.spec import setting_fields
from td3core.config.tunables import NO_FLOOR
from td3core.errors import RequestError

FIELDS = {item.name: item for cls in (RunConfig, Tunables) for item in setting_fields(cls)}
NUMBERS = [name for name, item in FIELDS.items() if item.type in (int, float)]
LAYERS = [name for name, item in FIELDS.items() if item.type == tuple[int, ...]]
CHOICES = [name for name, item in FIELDS.items() if item.metadata["spec"].choices]

DEFAULTS = {
    "tau": 0.005,
    "exploration_noise": 0.1,
    "policy_noise": 0.2,
    "noise_clip": 0.5,
    "policy_delay": 2,
    "gamma": 0.99,
    "actor_lr": 3e-4,
    "critic_lr": 3e-4,
    "batch_size": 256,
    "updates_per_step": 1,
    "noise_correlation": 0.0,
    "action_penalty": 0.0,
    "exploration_noise_decay": 1.0,
    "learning_starts": 25_000,
    "buffer_size": 1_000_000,
    "actor_hidden": (256, 256),
    "critic_hidden": (256, 256),
    "actor_activation": "relu",
    "critic_activation": "relu",
    "critic_layer_norm": False,
    "twin_critics": True,
    "eval_interval": 5_000,
    "eval_episodes": 10,
    "checkpoint_interval": 10_000,
    "seed": 0,
}


def make(**values: Any) -> Any:
    """Return the value that the one named setting ends up with."""
    config, tunables = make_settings({"env": "Pendulum-v1", **values})
    (name,) = values
    return getattr(config if hasattr(config, name) else tunables, name)


def refusal(**values: Any) -> str:
    with pytest.raises(RequestError) as caught:
        make_settings({"env": "Pendulum-v1", **values})
    return str(caught.value)


def allowed_values(name: str) -> st.SearchStrategy[Any]:
    item, known = FIELDS[name], FIELDS[name].metadata["spec"]
    if known.choices:
        return st.sampled_from(known.choices)
    if item.type is bool:
        return st.booleans()
    if item.type is float:
        return st.floats(known.low, known.high)
    integers = st.integers(*(int(known.low), int(known.high))) if item.type is not str else None
    if item.type is int:
        assert integers is not None
        return integers
    if item.type == tuple[int, ...]:
        assert integers is not None
        return st.lists(integers, max_size=16).map(tuple)
    return st.text(
        st.characters(exclude_categories=["Cs"]), min_size=1, max_size=known.longest
    ).filter(lambda text: text == text.strip())


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_is_called_and_what_it_does(name: str) -> None:
    cls = RunConfig if name in dict(specs(RunConfig)) else Tunables
    known = spec(cls, name)
    label, about = str(known.label), str(known.help)
    assert label
    assert label[0].isupper()
    assert about.endswith(".")
    assert len(about) > 20


def test_no_setting_is_both_fixed_and_live() -> None:
    assert not set(dict(specs(RunConfig))) & set(dict(specs(Tunables)))


@pytest.mark.parametrize(("name", "value"), DEFAULTS.items())
def test_defaults_are_those_of_the_table(name: str, value: object) -> None:
    assert default(name) == value
    assert type(default(name)) is type(value)


@pytest.mark.parametrize("name", ["gamma", "actor_lr", "critic_lr"])
def test_a_setting_whose_formula_is_that_of_td3_says_what_tqc_does(name: str) -> None:
    assert "with TQC" in str(spec(Tunables, name).help)


@pytest.mark.parametrize("name", dict(specs(Tunables)))
def test_a_slider_covers_its_default_and_only_allowed_values(name: str) -> None:
    known = spec(Tunables, name)
    low, high = known.slider_range
    assert known.low <= low <= high <= known.high
    assert low <= default(name) <= high or (known.lowest and default(name) == known.low)
    assert low < high
    assert known.scale == "linear" or low > 0.0


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("end", ["low", "high"])
def test_a_number_just_outside_its_range_is_refused_with_name_value_and_range(
    name: str, end: str
) -> None:
    known, kind = FIELDS[name].metadata["spec"], FIELDS[name].type
    bound, away = getattr(known, end), -1 if end == "low" else 1
    value = int(bound) + away if kind is int else math.nextafter(bound, away * math.inf)
    said = refusal(**{name: value})
    assert said.startswith(f"{name} cannot be {value};")
    # The end that stands for "off" is not shown as a number.
    low, high = (_exact(bound) for bound in (known.low, known.high))
    shown = {"reward_floor": f"off or a number up to {high}"}
    assert shown.get(name, f"{low} to {high}") in said


def _exact(bound: float) -> str:
    return f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def test_the_largest_seed_is_named_exactly() -> None:
    said = refusal(seed=3_000_000_000)
    assert said.endswith("it must be a whole number from 0 to 2,147,483,647.")
    assert spec(RunConfig, "seed").allowed == "0 to 2,147,483,647"


@pytest.mark.parametrize("name", ["env", "preset", "env_args", "info_columns"])
def test_a_text_too_long_to_be_shown_is_refused_in_a_short_sentence(name: str) -> None:
    longest = spec(RunConfig, name).longest
    said = refusal(**{name: "x" * (longest + 1)})
    assert said.startswith(f"{name} cannot be 'xxx")
    assert said.endswith(f"it must be text of at most {longest:,} characters.")
    assert len(said) < 400


def test_a_long_path_to_a_class_and_long_arguments_are_accepted() -> None:
    env = ".".join(["organisation_of_many_words"] * 10) + ":EnvironmentOfALeggedRobot"
    args = json.dumps({"waypoints": [[0.125, at] for at in range(500)]})
    config, _ = make_settings({"env": env, "env_args": args, "preset": "x" * 200})
    assert (config.env, config.env_args) == (env, args)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("end", ["low", "high"])
def test_both_ends_of_a_range_are_allowed(name: str, end: str) -> None:
    bound = FIELDS[name].type(getattr(FIELDS[name].metadata["spec"], end))
    room = {} if name == "buffer_size" else {"buffer_size": 10**8}
    small = {} if name == "batch_size" else {"batch_size": 1}
    loud = {} if name == "exploration_noise" else {"exploration_noise": 2.0}
    config, tunables = make_settings({"env": "a", **room, **small, **loud, name: bound})
    assert getattr(config, name, None) == bound or getattr(tunables, name, None) == bound


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["abc", None, True, [1], {}, math.nan, math.inf, -math.inf])
def test_a_number_setting_refuses_all_that_is_not_a_number(name: str, value: object) -> None:
    said = refusal(**{name: value})
    assert name in said
    assert str(value) in said
    assert str(type_words(name)) in said


@pytest.mark.parametrize("name", [n for n in NUMBERS if FIELDS[n].type is int])
def test_a_whole_number_setting_refuses_a_fraction_but_takes_a_whole_float(name: str) -> None:
    assert "whole number" in refusal(**{name: 1.5})
    value = 2.0 if name != "buffer_size" else 512.0
    assert make(**{name: value}) == value
    assert type(make(**{name: value})) is int


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    "value", [(0,), (8193,), (64, -1), ("64",), 64, "64", None, [1] * 17, [[64]]]
)
def test_layers_refuse_all_but_a_few_widths(name: str, value: object) -> None:
    said = refusal(**{name: value})
    assert said.startswith(f"{name} cannot be ")
    assert "1 to 8192" in said


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["elu", "ReLU", "", None, 1])
def test_a_choice_refuses_other_words_and_lists_its_own(name: str, value: object) -> None:
    said = refusal(**{name: value})
    assert name in said
    choices = FIELDS[name].metadata["spec"].choices
    assert (" or " if len(choices) == 2 else ", ").join(choices) in said


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_a_switch_takes_only_true_and_false(value: object) -> None:
    assert "true or false" in refusal(twin_critics=value)


def test_an_unknown_setting_is_refused_with_the_nearest_known_ones() -> None:
    said = refusal(polcy_delay=3)
    assert "'polcy_delay'" in said
    assert "policy_delay" in said


def test_an_environment_has_to_be_named() -> None:
    with pytest.raises(RequestError, match="env is missing"):
        make_settings({"seed": 1})
    for empty in ("", "  "):
        with pytest.raises(RequestError, match="env is empty"):
            make_settings({"env": empty})


def test_a_batch_larger_than_the_memory_is_refused() -> None:
    config, tunables = make_settings({"env": "any", "batch_size": 101, "buffer_size": 100})
    with pytest.raises(RequestError, match=r"batch_size 101 .*buffer_size 100"):
        check_together(config, tunables)


@pytest.mark.parametrize("name", FIELDS)
@given(data=st.data())
def test_a_value_written_as_text_reads_as_the_same_value(name: str, data: st.DataObject) -> None:
    value = data.draw(allowed_values(name))
    read = parse_value(name, str(value))
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("steps", "1e6", 1_000_000),
        ("steps", "20_000", 20_000),
        ("tau", " 5e-3 ", 0.005),
        ("twin_critics", "off", False),
        ("twin_critics", "ON", True),
        ("actor_hidden", "400, 300", (400, 300)),
        ("actor_hidden", "[64]", (64,)),
        ("actor_activation", "tanh", "tanh"),
    ],
)
def test_text_may_be_written_the_way_people_write_it(name: str, text: str, value: object) -> None:
    assert parse_value(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("steps", "1.5"),
        ("steps", "nan"),
        ("steps", "1e999"),
        ("tau", "small"),
        ("tau", ""),
        ("twin_critics", "yes please"),
        ("critic_hidden", "64;64"),
        ("batch_size", "9" * 5000),
    ],
    ids=lambda part: part[:12],
)
def test_text_of_another_kind_is_refused_with_what_the_setting_takes(name: str, text: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_value(name, text)
    assert name in str(caught.value)
    assert repr(text)[:60] in str(caught.value)
    assert str(type_words(name)) in str(caught.value)


def test_a_limit_is_switched_off_by_its_word_wherever_it_is_given() -> None:
    for value in ("off", " Off ", NO_FLOOR):
        _, tunables = make_settings({"env": "any", "reward_floor": value})
        assert tunables.reward_floor == NO_FLOOR
    assert parse_value("reward_floor", "off") == NO_FLOOR


def test_text_for_an_unknown_setting_is_refused() -> None:
    with pytest.raises(RequestError, match="policy_noise"):
        parse_value("policy_nois", "1")


@given(name=st.sampled_from(list(FIELDS)), text=st.text())
def test_any_text_is_either_read_or_refused(name: str, text: str) -> None:
    kind = FIELDS[name].type
    try:
        value = parse_value(name, text)
    except RequestError as problem:
        said = str(problem)
    else:
        assert isinstance(value, tuple if kind == tuple[int, ...] else kind)
        return
    assert name in said


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(values=st.dictionaries(st.sampled_from(list(FIELDS)) | st.text(), ANYTHING, max_size=6))
def test_any_values_are_either_valid_settings_or_refused(values: dict[str, Any]) -> None:
    try:
        config, tunables = make_settings(values)
    except RequestError as problem:
        said = str(problem)
    else:
        assert (config, tunables) == make_settings({**to_dict(config), **to_dict(tunables)})
        return
    assert said.endswith((".", "?"))


def test_changes_name_each_setting_that_differs_with_both_values() -> None:
    old, new = Tunables(), Tunables(tau=0.1, policy_delay=3)
    assert changes(old, new) == [("tau", 0.005, 0.1), ("policy_delay", 2, 3)]
    assert changes(old, Tunables()) == []


def test_settings_cannot_be_changed_behind_their_check() -> None:
    with pytest.raises(AttributeError):
        Tunables().tau = 7.0  # type: ignore[misc]


def test_a_setting_is_also_read_by_the_name_of_an_earlier_version() -> None:
    config, _ = make_settings({"env": "Pendulum-v1", "eval_beside": False})
    assert config.background_evaluation is False
    assert parse_value("eval_beside", "off") is False
    config, _ = make_settings({**to_dict(config), "env": "Pendulum-v1", "eval_beside": True})
    assert config.background_evaluation is True, "the later of two names counts"
