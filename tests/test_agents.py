"""The bundled agents: small, complete with their records, and as good as these claim."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.envs.catalogue import find_known
from td3core.evaluation.bundled import bundled_evaluation
from tests.benchmarks.bundle import table
from tests.support.marks import slow
from tests.support.playing import EPISODES, MANY, recorded_returns, require_alike, returns_of

AGENTS = Path(str(files("resources") / "agents"))
NAMES = sorted(path.stem for path in AGENTS.glob("*.safetensors"))
FIRST = ("BipedalWalker-v3", "Pendulum-v1")
"""The one that the window shows at first, and the one that is trained within a minute."""


def record_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((AGENTS / f"{name}.json").read_text("utf-8"))
    return found


def test_there_is_a_walker_and_something_that_learns_in_a_minute() -> None:
    assert {"BipedalWalker-v3", "Pendulum-v1"} <= set(NAMES)


def test_the_page_of_the_agents_is_made_of_their_records() -> None:
    page = (AGENTS / "README.md").read_text("utf-8")
    assert page == table()
    assert "| 0 min |" not in page


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_is_small_and_its_record_is_complete(name: str) -> None:
    file, record = AGENTS / f"{name}.safetensors", record_of(name)
    assert file.stat().st_size < 2_000_000
    header = checkpoint.read_header(file)
    assert header.config.env == name
    assert header.counters.env_steps == record["env_steps"]
    assert record["command"].startswith(f"td3-studio train {name}")
    assert len(record["evaluation"]["returns"]) == 100
    assert np.mean(record["evaluation"]["returns"]) == pytest.approx(record["evaluation"]["mean"])
    judged = bundled_evaluation(file)
    assert judged is not None
    assert (judged.mean, judged.seed) == (pytest.approx(record["evaluation"]["mean"]), 1000)
    if record.get("checkpoint") == "best":
        step, _ = max(record["curve"], key=lambda row: row[1])
        assert step == record["env_steps"]
    else:
        assert record["curve"][-1][0] <= record["env_steps"]
    names = {tensor.split(".")[0] for tensor in checkpoint.load(file).tensors}
    assert {"actor", "critic1", "critic2"} <= names


@pytest.mark.parametrize("name", [*FIRST, *slow(*(name for name in NAMES if name not in FIRST))])
def test_an_agent_repeats_the_first_episodes_of_its_record(name: str) -> None:
    known = find_known(name)
    if known is not None and not known.installed:
        pytest.skip(f"needs {known.package}")
    agent, record = checkpoint.load(AGENTS / f"{name}.safetensors"), record_of(name)
    recorded = recorded_returns(agent, record)
    if recorded is not None:
        assert returns_of(agent, record, EPISODES) == recorded
    else:
        require_alike(returns_of(agent, record, MANY), record)


@pytest.mark.parametrize("name", sorted(path.name for path in AGENTS.iterdir() if path.is_dir()))
def test_snapshots_are_earlier_agents_of_the_run(name: str) -> None:
    snapshots = sorted((AGENTS / name).glob("*.safetensors"))
    last = record_of(name)["env_steps"]
    assert len(snapshots) >= 5
    for path in snapshots:
        header = checkpoint.read_header(path)
        assert header.config.env == name
        assert path.stem == f"step_{header.counters.env_steps:09d}"
        assert header.counters.env_steps < last
