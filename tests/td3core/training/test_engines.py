"""Runs with either engine: recorded, repeatable, and resumed with the same digits."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numba
import pytest

from td3core import checkpoint
from td3core.algorithm.fused import kernel, kernel_cache, parallel
from td3core.algorithm.fused.update import FusedUpdate
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Started, Warned
from td3core.system import numerics
from tests.support.lives import differences
from tests.support.marks import slow
from tests.td3core.helpers import finish, run, same, tensors
from tests.td3core.training.resuming import go_on, stopped

VALUES: dict[str, Any] = {"steps": 120, "eval_interval": 40, "checkpoint_interval": 40}


def compiled_here() -> int:
    """Return how many kernels this process has compiled, instead of loading them."""
    kernels = kernel.update_many, parallel.update_many
    return sum(sum(each.stats.cache_misses.values()) for each in kernels)


def test_a_run_says_and_records_what_computed_its_updates(runs_dir: Path) -> None:
    before = compiled_here()
    outcome, told = run(runs_dir, **VALUES)
    assert compiled_here() == before, "the run compiled something itself"
    assert isinstance(outcome, Ended)
    assert str(told.all(Started)[0].engine).startswith("the compiled update, ")
    assert outcome.last_checkpoint is not None
    assert checkpoint.read_header(outcome.last_checkpoint).numerics["engine"] == "compiled"
    assert outcome.updates == 100


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs a second core")
def test_a_run_on_two_threads_compiles_nothing_either(runs_dir: Path) -> None:
    before = compiled_here()
    # The second kernel is called at least to try whether it changes a bit.
    finish(runs_dir, **VALUES, threads=2, batch_size=parallel.SMALLEST_BATCH)
    assert parallel.update_many.signatures
    assert compiled_here() == before


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"num_envs": 3, "updates_per_step": 2},
        {"normalize_observations": True, "engine": "torch"},
        {"twin_critics": False, "policy_delay": 3, "lr_final": 0.1},
        *slow({"engine": "torch"}),
    ],
    ids=str,
)
def test_a_resumed_run_is_the_one_that_was_never_interrupted(
    runs_dir: Path, values: dict[str, Any]
) -> None:
    straight = finish(runs_dir / "straight", **VALUES | values)
    ended = stopped(runs_dir / "broken", 66, **VALUES | values)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    assert told.all(Warned) == []
    assert differences(straight.run, outcome.run) == []


def test_the_same_seed_gives_the_same_run(runs_dir: Path) -> None:
    one, other = (finish(runs_dir / name, **VALUES) for name in ("one", "other"))
    assert same(tensors(one.last_checkpoint), tensors(other.last_checkpoint))


def test_torch_and_the_compiled_update_take_the_same_course(runs_dir: Path) -> None:
    compiled = tensors(finish(runs_dir / "compiled", **VALUES).last_checkpoint)
    plain = tensors(finish(runs_dir / "plain", engine="torch", **VALUES).last_checkpoint)
    assert compiled.keys() == plain.keys()
    assert not same(compiled, plain)
    for name, array in compiled.items():
        if name.startswith(("actor.", "critic1.", "critic2.")):
            assert abs(array - plain[name]).max() < 1e-4, name


def test_a_run_and_a_resumed_one_say_that_the_class_chosen_is_none_of_this_processor(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(numerics.VARIABLE, "banana")
    _, begun = run(runs_dir / "begun", **VALUES)
    ended = stopped(runs_dir / "resumed", 66, **VALUES)
    outcome, resumed = go_on(ended.run)
    assert isinstance(outcome, Ended)
    for told in (begun, resumed):
        (warned,) = told.all(Warned)
        assert "'banana' in TD3_STUDIO_NUMERICS is not followed" in str(warned.message)
        assert warned.no_deviation


def test_where_the_kernel_is_missing_a_resumed_run_says_that_digits_differ(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = stopped(runs_dir, 66, **VALUES)
    monkeypatch.setattr(kernel_cache, "works", lambda: False)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    said = [str(warned.message) for warned in told.all(Warned)]
    assert ["the engine was compiled and is torch" in each for each in said] == [True]
    assert str(told.all(Started)[0].engine).startswith("torch, ")


@pytest.mark.parametrize("updates", [1, 3])
def test_a_step_enters_the_update_once_and_torch_hardly_ever(runs_dir: Path, updates: int) -> None:
    """Each call into torch gives the interpreter to another thread, such as the window's."""
    calls: Counter[str] = Counter()

    def count(frame: Any, event: str, called: Any) -> None:
        if event == "call" and frame.f_code is FusedUpdate.__call__.__code__:
            calls["update"] += 1
        elif event == "c_call":
            owner = getattr(called, "__module__", None) or type(called.__self__).__module__
            # What undoes an environment's changes only looks, and keeps the interpreter.
            if called.__name__ not in ("get_num_threads", "get_default_dtype"):
                calls[owner.partition(".")[0]] += 1
            calls["waiting"] += called.__name__ in ("sleep", "acquire", "wait", "write", "fsync")

    def watch(step: int) -> None:
        if step in (100, 300):
            sys.setprofile(count if step == 100 else None)

    control = Control(boundary_hook=watch)
    values = VALUES | {"steps": 320, "eval_interval": 0, "checkpoint_interval": 0}
    outcome, _ = run(runs_dir, control=control, updates_per_step=updates, **values)
    assert isinstance(outcome, Ended)
    assert calls["update"] == 200
    assert calls["torch"] < 0.2 * 200
    assert calls["waiting"] < 0.2 * 200
