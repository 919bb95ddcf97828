"""The record of what the last bits depend on, and the probe that proves it."""

from dataclasses import replace
from typing import Any

import pytest

from td3core.algorithm import engine, fingerprint
from td3core.config.networks import Sizes
from td3core.envs.info import EnvInfo
from td3core.system import numerics, processor
from tests.td3core.helpers import make_header, tiny

PATH: Any = None


def info() -> EnvInfo:
    return make_header(PATH).env


def record(recorded: dict[str, str] | None = None, **values: Any) -> dict[str, str]:
    """Return the record of a run with these settings, here."""
    config, tunables = tiny(**values)
    config = engine.resolve(config)
    products = "" if config.engine == "compiled" else "MKL"
    return fingerprint.record(config, info(), products, tunables.batch_size, recorded or {})


def test_the_record_names_what_the_engine_depends_on_and_nothing_else() -> None:
    compiled, torch = record(engine="compiled"), record(engine="torch")
    assert {"numpy", "scipy", "numba", "llvmlite", "class", "kernels", "gymnasium"} <= set(compiled)
    assert not {"torch", "threads", "processor", "products"} & set(compiled)
    assert {"torch", "threads", "processor", "products", "class"} <= set(torch)
    assert compiled["class"] == numerics.current()
    assert compiled["kernels"] == numerics.kernels()
    assert torch["processor"] == processor.name()


def test_the_simulator_of_a_known_environment_is_on_record() -> None:
    assert "box2d" in record(env="BipedalWalker-v3")
    assert "mujoco" in record(env="Hopper-v5")
    assert not {"box2d", "mujoco"} & set(record())


def test_the_probe_is_the_same_each_time_and_another_for_other_networks() -> None:
    first = record()
    assert record()["probe"] == first["probe"]
    others = [
        {"actor_hidden": (9, 8)},
        {"critic_activation": "tanh"},
        {"critic_layer_norm": True},
        {"twin_critics": False},
        {"normalize_observations": True},
        {"batch_size": 9},
        {"engine": "torch"},
    ]
    found = {record(**values)["probe"] for values in others}
    assert len(found) == len(others)
    assert first["probe"] not in found
    # Neither seed nor live settings are part of it.
    assert record(seed=5, tau=0.5, policy_delay=3)["probe"] == first["probe"]


def test_a_resumed_run_repeats_the_probe_of_its_record() -> None:
    then = record()
    now = record(then, batch_size=50)
    assert now["probe"] == then["probe"]
    assert fingerprint.differences(then, now) == []
    # A file may hold anything.
    assert record({"probe_batch": "9" * 50})["probe_batch"] == "4096"
    assert record({"probe_batch": "-3"})["probe_batch"] == "8"


def test_very_wide_networks_are_probed_with_narrower_ones() -> None:
    config, _ = tiny(critic_hidden=(4096, 8), engine="torch")
    narrower = replace(config, critic_hidden=(2048, 8))
    found = {fingerprint.probe(each, Sizes(3, 2), 4, "MKL") for each in (config, narrower)}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"numpy": "1.0"}, "numpy was 1.0 and is"),
        ({"class": "neon"}, "the numerics class was neon and is"),
        ({"engine": "torch"}, "the engine was torch and is compiled"),
        ({"probe": "0"}, "a trial update gives other bits here"),
    ],
)
def test_what_has_changed_is_named(changes: dict[str, str], says: str) -> None:
    now = record()
    (message,) = fingerprint.differences(now | changes, now)
    assert "The last digits will differ" in str(message)
    assert says in str(message)


def test_a_record_of_the_torch_engine_with_gradients_written_out_is_no_longer_met() -> None:
    now = record(engine="torch")
    then = {name: value for name, value in now.items() if name != "gradients"}
    (message,) = fingerprint.differences(fingerprint.with_names_of_today(then, now["class"]), now)
    assert "the way torch finds gradients was written out and is autograd" in str(message)
    assert fingerprint.differences(fingerprint.with_names_of_today(now, now["class"]), now) == []
    compiled = record()
    assert fingerprint.with_names_of_today(compiled, compiled["class"]) == compiled


def test_records_of_earlier_versions_are_read_by_todays_names() -> None:
    """They named torch and its instructions, whatever computed the updates."""
    now, torch = record(), record(engine="torch")
    old = {"torch": "2.0", "numpy": now["numpy"], "processor": "x86_64 AVX512", "threads": "3"}
    compiled = fingerprint.with_names_of_today(old | {"products": "numba"}, now["class"])
    assert fingerprint.differences(compiled, now) == []
    plain = fingerprint.with_names_of_today(old | {"products": "MKL"}, now["class"])
    said = " ".join(map(str, fingerprint.differences(plain, torch)))
    assert "torch was 2.0" in said
    assert "the number of threads was 3" in said
    moved = fingerprint.with_names_of_today(old | {"processor": "x86_64 NO_AVX"}, now["class"])
    (message,) = fingerprint.differences(moved, torch)
    assert "the processor was x86_64 NO_AVX" in str(message)
    assert fingerprint.with_names_of_today({}, "avx2") == {}
