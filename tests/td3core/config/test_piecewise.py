"""Schedules of live settings: how they are written, checked, kept, and what values they give."""

import math

import pytest
from hypothesis import given as property_of
from hypothesis import strategies as st

from td3core.config import (
    Tunables,
    at_step,
    changes,
    check_together,
    given,
    make_settings,
    parse_value,
    pinned,
    schedule_of,
    to_dict,
    with_values,
)
from td3core.config.presets import parse_preset, preset_of, preset_text
from td3core.errors import RequestError
from td3core.experiments.sweeps.file import parse as parse_sweep

TAU = "0.02@20000, 0.005@40000"


def values(name: str, text: str, steps: int, *at: int) -> list[float]:
    """Return what a setting is for some steps of a run."""
    followed = Tunables(**{name: text})  # type: ignore[arg-type]
    return [getattr(at_step(followed, step, steps), name) for step in at]


def test_a_number_moves_in_a_straight_line_from_point_to_point() -> None:
    found = values("tau", TAU, 100_000, 0, 1, 20_000, 30_000, 40_000, 99_999)
    assert found == pytest.approx([0.02, 0.02, 0.02, 0.0125, 0.005, 0.005])
    # At its points it has their very values.
    assert values("tau", TAU, 100_000, 20_000, 40_000, 50_000) == [0.02, 0.005, 0.005]


def test_a_whole_number_keeps_its_value_until_the_next_point() -> None:
    # As a change by hand at step 5,000, it takes effect before step 5,001.
    found = values("updates_per_step", "2, 3@5000, 1@30_000", 100_000, 1, 5_000, 5_001, 30_001)
    assert found == [2, 2, 3, 1]
    assert all(type(each) is int for each in found)


def test_two_points_at_a_step_are_a_jump() -> None:
    assert values("tau", "0.5@10, 0.1@10", 100, 10, 11) == [0.5, 0.1]


def test_steps_may_be_shares_of_the_run_and_values_multiples() -> None:
    found = values("critic_lr", "1e-3@50%, x0.1@100%", 200, 100, 150, 200, 201)
    assert found == pytest.approx([1e-3, 5.5e-4, 1e-4, 1e-4], rel=1e-12)
    # A longer run stretches what is a share of it.
    assert values("critic_lr", "1e-3@0, x0.1@100%", 400, 200) == pytest.approx([5.5e-4])


@pytest.mark.parametrize(
    ("text", "steps", "expected"),
    [
        ("1e-3, x0.1@100%", 200, "0.001@0, x0.1@200"),
        ("0.5@50%, 0.1@50%", 101, "0.5@50, 0.1@50"),
        ("0.5@150, 0.2@50%, 0.1@100%", 200, "0.5@150, 0.2@150, 0.1@200"),
        ("0.5@7, 0.1@9", 200, "0.5@7, 0.1@9"),
    ],
)
def test_shares_can_become_the_steps_that_they_stand_for(
    text: str, steps: int, expected: str
) -> None:
    found = pinned(Tunables(tau=text), steps)  # type: ignore[arg-type]
    assert given(found, "tau") == expected


@property_of(
    rate=st.floats(1e-6, 1.0), share=st.floats(0.0, 0.99), steps=st.integers(1, 10**7), at=st.data()
)
def test_a_final_share_of_earlier_versions_has_the_same_digits(
    rate: float, share: float, steps: int, at: st.DataObject
) -> None:
    _, tunables = make_settings({"env": "any", "lr_final": share, "actor_lr": rate})
    step = at.draw(st.integers(1, 2 * steps))
    done = min(step / steps, 1.0)
    expected = (1.0 + (share - 1.0) * done) * rate
    assert at_step(tunables, step, steps).actor_lr == expected


@pytest.mark.parametrize(
    "text",
    ["0.1@5, 0.2@3", "x2@0", "0.1@-1", "0.1@1.5", "0.1@101%", "0.1@5, 0.2", "@", "a@1", "nan@1"],
)
def test_what_is_no_schedule_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(RequestError, match=r"^tau cannot be '.*such as 0\.02@20000"):
        Tunables(tau=text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text"),
    [("tau", "0.1@0, 7@10"), ("policy_delay", "1.5@0"), ("gamma", "0.9@0, x2@10")],
)
def test_every_value_of_a_schedule_must_be_allowed(name: str, text: str) -> None:
    with pytest.raises(RequestError, match=f"^{name} cannot be .*it must be"):
        make_settings({"env": "any", name: text})


@property_of(
    points=st.lists(
        st.tuples(st.floats(0.0, 1.0), st.integers(0, 10**6)), min_size=1, max_size=5
    ).map(lambda found: sorted(found, key=lambda point: point[1])),
    step=st.integers(0, 2 * 10**6),
)
def test_a_schedule_stays_between_its_values_and_is_read_as_it_was_written(
    points: list[tuple[float, int]], step: int
) -> None:
    text = ", ".join(f"{value!r}@{at}" for value, at in points)
    followed = Tunables(tau=text)  # type: ignore[arg-type]
    kept = given(followed, "tau")
    assert Tunables(tau=kept) == followed
    schedule = schedule_of(followed, "tau")
    assert schedule is not None
    low, high = min(schedule.values), max(schedule.values)
    found = schedule.at(step, 10**6)
    assert math.nextafter(low, -1.0) <= found <= math.nextafter(high, 2.0)


def test_a_value_ends_the_schedule_of_its_setting_and_of_no_other() -> None:
    before = Tunables(tau=TAU, gamma="0.9@0, 0.99@10")  # type: ignore[arg-type]
    after = with_values(before, {"tau": 0.3})
    assert changes(before, after) == [("tau", TAU, 0.3)]
    assert with_values(after, {"tau": TAU}) == before
    # That a schedule has moved on is no change.
    assert changes(before, at_step(before, 30_000, 50_000)) == []


def test_settings_with_schedules_are_stored_and_read() -> None:
    config, tunables = make_settings({"env": "any", "tau": TAU, "lr_final": 0.5})
    stored = to_dict(config) | to_dict(tunables)
    assert (stored["tau"], stored["actor_lr"]) == (TAU, "0.0003@0, x0.5@100%")
    assert "lr_final" not in stored
    assert make_settings(stored) == (config, tunables)
    assert parse_value("tau", "0.02@2e4,0.005@40_000") == TAU


def test_a_preset_holds_schedules(tmp_path: object) -> None:
    config, tunables = make_settings({"env": "Pendulum-v1", "tau": TAU})
    preset = parse_preset(preset_text(preset_of("mine", config, tunables)))
    assert preset.values == {"tau": TAU}


def test_a_batch_that_grows_must_fit_the_replay_buffer() -> None:
    values = {"env": "any", "buffer_size": 100, "batch_size": "50@0, 200@10"}
    with pytest.raises(RequestError, match="batch_size 200 is larger than buffer_size 100"):
        check_together(*make_settings(values))


def test_a_setting_that_the_algorithm_fixes_follows_no_schedule() -> None:
    values = {"env": "any", "algorithm": "ddpg", "policy_delay": "1@0, 2@10"}
    with pytest.raises(RequestError, match="policy_delay must be 1"):
        check_together(*make_settings(values))


def test_a_sweep_chooses_among_schedules() -> None:
    text = f'environment = "Pendulum-v1"\n[space.tau]\nchoices = ["{TAU}", 0.005]'
    sweep = parse_sweep(text, "mine")
    _, tunables = sweep.run_settings({"tau": TAU}, 0)
    assert given(tunables, "tau") == TAU
    final = 'environment = "Pendulum-v1"\n[space.lr_final]\nlow = 0.1\nhigh = 1.0'
    assert parse_sweep(final, "mine").values_of("lr_final") == (0.1, 1.0)
