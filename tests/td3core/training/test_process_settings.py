"""Changes that an environment makes to its process: torch's defaults and the current folder."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController, threadpool_limits

from td3core import checkpoint
from td3core.algorithm import matmul
from td3core.algorithm.td3 import TD3
from td3core.checkpoint.format import require_readable
from td3core.checkpoint.resumable import require_resumable
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.runs.directory import RunDirectory
from tests.support.marks import release
from tests.support.scripted import Script
from tests.td3core.helpers import fail, make_agent, make_header, run, same, tensors
from tests.td3core.training.resuming import VALUES, branched, go_on, stopped

pytestmark = pytest.mark.slow


@pytest.fixture
def torch_defaults() -> Iterator[None]:
    """Put torch's defaults back."""
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)


DEFAULTS: dict[str, Callable[[], None]] = {
    "float64": lambda: torch.set_default_dtype(torch.float64),
    "bfloat16": lambda: torch.set_default_dtype(torch.bfloat16),
    "meta": lambda: torch.set_default_device("meta"),
    "no gradients": lambda: torch.set_grad_enabled(False),
}


@pytest.mark.usefixtures("torch_defaults")
@pytest.mark.parametrize("engine", ["compiled", "torch"])
@pytest.mark.parametrize("meddle", DEFAULTS.values(), ids=DEFAULTS)
@pytest.mark.parametrize("when", ["made", *release("reset", "stepped")])
def test_torchs_defaults_do_not_matter(
    runs_dir: Path, scripted: Any, meddle: Callable[[], None], when: str, engine: str
) -> None:
    values = {"eval_interval": 30, "engine": engine}
    plain, _ = run(runs_dir / "plain", scripted(Script()), **values)
    assert isinstance(plain, Ended)
    script = Script(
        on_make=lambda: meddle() if when == "made" else None,
        on_reset=lambda number: meddle() if when == "reset" else None,
        on_step=lambda step: meddle() if when == "stepped" and step == 25 else None,
    )
    outcome, _ = run(runs_dir, scripted(script), **values)
    assert isinstance(outcome, Ended), outcome
    assert same(tensors(plain.last_checkpoint), tensors(outcome.last_checkpoint))
    resumed, _ = go_on(outcome.run, steps=80)
    assert isinstance(resumed, Ended), resumed


CHANGES: dict[str, Callable[[], object]] = {
    "torch's threads": lambda: torch.set_num_threads(3),
    "float64": lambda: torch.set_default_dtype(torch.float64),
    "meta": lambda: torch.set_default_device("meta"),
    "BLAS threads": lambda: threadpool_limits(2, user_api="blas"),
    "errors": lambda: np.seterr(all="raise"),
}


def settings() -> dict[str, object]:
    """Return what the changes above change."""
    blas = ThreadpoolController().select(user_api="blas").lib_controllers
    return {
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "BLAS": [library.get_num_threads() for library in blas],
        "errors": np.geterr(),
    }


@pytest.mark.usefixtures("torch_defaults")
@pytest.mark.parametrize("when", ["made", "reset", "stepped"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_an_environment_changes_is_undone_after_each_call(
    runs_dir: Path, scripted: Any, change: str, when: str
) -> None:
    seen: list[dict[str, object]] = []

    def meddle(at: str) -> None:
        if at == when:
            CHANGES[change]()

    script = Script(
        [(10, "truncated")],
        on_make=lambda: meddle("made"),
        on_reset=lambda _: meddle("reset"),
        on_step=lambda _: meddle("stepped"),
    )
    control = Control(boundary_hook=lambda _: seen.append(settings()))
    before = settings() | {"threads": 1}
    with threadpool_limits(1, user_api="blas"):
        before["BLAS"] = settings()["BLAS"]
        outcome, _ = run(runs_dir, scripted(script), control=control, eval_interval=20)
        assert isinstance(outcome, Ended), outcome
        assert settings() == before
    # What costs too much to look at after each step is undone with the next reset.
    costly = when == "stepped" and change in ("meta", "BLAS threads")
    assert all(each == before for each in (seen[::10] if costly else seen))


@pytest.mark.usefixtures("torch_defaults")
@pytest.mark.parametrize("meddle", DEFAULTS.values(), ids=DEFAULTS)
def test_the_choice_of_a_matrix_product_does_not_depend_on_torchs_defaults(
    meddle: Callable[[], None],
) -> None:
    meddle()
    assert matmul.choose() in (matmul.MKL, matmul.ONEDNN)


# What is saved can be read ----------------------------------------------------------------------


UNREADABLE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "dtype": ("actor.0.weight", lambda a: a.astype(np.float64)),
    "shape": ("actor.0.weight", lambda a: a[:1]),
    "not a number": ("critic1_target.1.bias", lambda a: a * np.nan),
}


@pytest.mark.parametrize(("name", "change"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_agent_that_could_not_be_read_again_is_not_saved(
    name: str, change: Callable[[Any], Any]
) -> None:
    path = Path("a.safetensors")
    header, state = make_header(path), make_agent().state()
    require_readable(path, checkpoint.Checkpoint(header=header, tensors=state))
    lacking = {key: value for key, value in state.items() if key != name}
    for wrong in (state | {name: change(state[name])}, lacking):
        with pytest.raises(RequestError, match=name):
            require_readable(path, checkpoint.Checkpoint(header=header, tensors=wrong))


def test_a_header_that_could_not_be_read_again_is_not_saved() -> None:
    path = Path("a.safetensors")
    header = make_header(path)
    wrong = replace(header, counters=replace(header.counters, updates=-1))
    with pytest.raises(RequestError, match="counter"):
        require_readable(path, checkpoint.Checkpoint(header=wrong, tensors=make_agent().state()))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("actor.0.weight", lambda a: a.astype(np.float64)),
        ("actor_adam.step", lambda a: a.astype(np.float64)),
        ("critic_adam.critic1.0.weight.exp_avg", lambda a: a[:1]),
        ("critic_adam.critic2.0.bias.exp_avg_sq", lambda a: a + np.inf),
    ],
    ids=["network", "dtype", "shape", "infinite"],
)
def test_a_run_whose_agent_could_not_be_resumed_from_fails(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]
) -> None:
    state = TD3.state

    def wrong(agent: TD3) -> dict[str, Any]:
        found = state(agent)
        return found | {name: change(found[name])} if agent.updates > 15 else found

    monkeypatch.setattr(TD3, "state", wrong)
    outcome, _ = fail(runs_dir, checkpoint_interval=30)
    assert name in str(outcome.message)
    assert outcome.last_checkpoint is not None
    saved = checkpoint.load(outcome.last_checkpoint)
    require_resumable("last", saved)
    assert saved.header.counters.env_steps == 30


# The current folder -----------------------------------------------------------------------------


@pytest.fixture
def wandering(
    tmp_path: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Path]]:
    """Return an environment that changes the current folder, and the folder before."""
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    monkeypatch.chdir(home)
    yield scripted(Script(on_make=lambda: os.chdir(away))), home
    assert not list(away.iterdir())


def test_a_run_lies_in_one_folder_wherever_its_environment_goes(
    wandering: tuple[str, Path], runs_dir: Path
) -> None:
    env, home = wandering
    plain, _ = run(runs_dir, env, **VALUES)
    assert isinstance(plain, Ended)
    os.chdir(home)
    outcome, _ = run(Path("runs"), env, **VALUES)
    assert isinstance(outcome, Ended), outcome
    assert outcome.run.parent == home / "runs"
    names = [{str(p.relative_to(r)) for p in r.rglob("*")} for r in (plain.run, outcome.run)]
    assert names[0] == names[1]
    assert {"replay.f32", "ending.json", "episodes.csv", "run.toml"} <= names[1]


def test_a_run_named_by_a_relative_path_is_resumed_in_its_folder(
    wandering: tuple[str, Path],
) -> None:
    env, home = wandering
    ended = stopped(home / "runs", 50, env, **VALUES)
    os.chdir(home)
    outcome, _ = go_on(Path("runs", ended.run.name))
    assert isinstance(outcome, Ended), outcome
    assert outcome.run == ended.run


@pytest.mark.parametrize(
    ("inside", "name"),
    [
        ("checkpoints", "last.safetensors"),
        ("", "checkpoints/../checkpoints/last.safetensors"),
        ("checkpoints", "../checkpoints/last.safetensors"),
    ],
)
def test_a_branch_of_a_relative_path_finds_buffer_and_parent(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, inside: str, name: str
) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    monkeypatch.chdir(ended.run / inside)
    outcome, told = branched(Path(name), Path("branches"), steps=60)
    assert isinstance(outcome, Ended), outcome
    assert not [event for event in told.events if "replay buffer" in str(event)]
    parent = RunDirectory.open(outcome.run).parent
    assert parent is not None
    assert parent.run == ended.run.name
