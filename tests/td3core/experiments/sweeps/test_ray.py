"""Sweeps through Ray: two nodes of which one is killed, and nodes that share no folder."""

import io
import os
import sys
import tarfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from td3core import __version__
from td3core.cli.app import main
from td3core.experiments.jobs import CODEC
from td3core.experiments.sweeps.executor import outcome_of
from td3core.experiments.sweeps.ray_worker import RayWorker, pack, unpack
from td3core.runs.directory import RunDirectory
from tests.support.stranger import Stranger
from tests.support.waiting import eventually
from tests.td3core.helpers import tiny

TEXT = """
environment = "Pendulum-v1"
trials = 2
steps = 60000
jobs = 2
[settings]
learning_starts = 200
eval_interval = 15000
eval_episodes = 1
checkpoint_interval = 15000
batch_size = 100
actor_hidden = [64, 64]
critic_hidden = [64, 64]
[space]
actor_lr = { low = 1e-4, high = 1e-2, log = true }
"""
"""Long enough that neither run has ended when the node is lost, though one begins later."""
FIRST = "checkpoints/step_000015000.safetensors"


def test_a_node_without_the_folder_trains_on_a_copy_and_hands_it_back(tmp_path: Path) -> None:
    config, tunables = tiny(steps=60, checkpoint_interval=20)
    run = RunDirectory.create(tmp_path / "here", config, tunables)
    worker = RayWorker()
    elsewhere = str(tmp_path / "elsewhere" / run.path.name)
    description = (run.path / "run.toml").read_bytes()
    assert worker.train(__version__, elsewhere, 60, description, None) == {"needs_files": True}
    found = worker.train(__version__, elsewhere, 60, description, pack(run.path))
    assert CODEC.decode(found["event"]).stopped == "finished"
    snapshot, _ = worker.news()
    for files in (snapshot, found["files"]):
        unpack(files, run.path)
    assert run.last.exists()
    ending = run.ending()
    assert ending is not None
    assert (ending.stopped, ending.env_steps) == ("finished", 60)


def test_a_restarted_worker_asks_for_the_newest_files(tmp_path: Path) -> None:
    config, tunables = tiny(steps=20)
    run = RunDirectory.create(tmp_path, config, tunables)
    worker, old = RayWorker(restarted=True), pack(run.path)
    elsewhere = str(tmp_path / "elsewhere")
    assert worker.train(__version__, elsewhere, 20, b"", old) == {"needs_files": True}
    found = worker.train(__version__, elsewhere, 20, b"", old)
    assert CODEC.decode(found["event"]).stopped == "finished"


def test_a_node_with_another_version_trains_nothing(tmp_path: Path) -> None:
    config, tunables = tiny(steps=20)
    run = RunDirectory.create(tmp_path, config, tunables)
    description = (run.path / "run.toml").read_bytes()
    found = RayWorker().train("0.0.1", str(run.path), 20, description, None)
    outcome = outcome_of(CODEC.decode(found["event"]))
    assert outcome.stopped == "failed"
    assert str(outcome.message).endswith("the sweep 0.0.1: install the same version.")
    assert run.ending() is None


def test_a_node_imports_the_code_that_is_allowed_by_name_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = Stranger(tmp_path, monkeypatch)
    stranger.write("theirs_env")
    config, tunables = tiny("theirs_env:Slide", steps=20)
    run = RunDirectory.create(tmp_path / "runs", config, tunables)
    call = __version__, str(run.path), 20, (run.path / "run.toml").read_bytes(), None
    refused = CODEC.decode(RayWorker().train(*call, modules=("others_env",))["event"])
    assert "theirs_env.py, which you have not allowed" in str(refused.message)
    assert stranger.imported == set()
    done = CODEC.decode(RayWorker().train(*call, modules=("theirs_env",))["event"])
    assert done.stopped == "finished"
    stranger.leave("theirs_env")


def test_packed_files_cannot_leave_their_folder(tmp_path: Path) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../file"))
    with pytest.raises(ValueError, match="does not belong"):
        unpack(data.getvalue(), tmp_path / "run")
    assert not (tmp_path / "file").exists()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes with a core each, and a head without any."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    monkeypatch.setenv("RAY_ADDRESS", made.address)
    yield made
    made.shutdown()


@pytest.mark.release
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra td3-studio[ray]")
@pytest.mark.skipif(sys.platform != "linux", reason="several nodes on one machine need Linux")
# Ray's own warnings are none of ours.
@pytest.mark.filterwarnings("ignore")
def test_the_runs_of_a_lost_node_continue_on_another(
    cluster: Any, tmp_path: Path, runs_dir: Path
) -> None:
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    file = tmp_path / "cluster.toml"
    file.write_text(TEXT)
    runs = [runs_dir / f"cluster_t00{number}_s0" for number in range(2)]

    def lose_a_node() -> None:
        eventually(lambda: all((run / FIRST).exists() for run in runs), 300)
        cluster.remove_node(nodes[0], allow_graceful=False)

    thread = threading.Thread(target=lose_a_node, daemon=True)
    thread.start()
    status = main(["sweep", str(file), "--ray", "auto", "--runs-dir", str(runs_dir)])
    thread.join()
    assert status == 0
    for run in map(RunDirectory.open, runs):
        ending = run.ending()
        assert ending is not None
        assert (ending.stopped, ending.env_steps) == ("finished", 60_000)
        assert [step for step, _ in run.evaluations()] == list(range(15_000, 60_001, 15_000))
    resumed = [entry for run in runs for entry in RunDirectory.open(run).journal()]
    assert [entry["event"] for entry in resumed if entry.get("event") == "resume"] == ["resume"]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra td3-studio[ray]")
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_cannot_be_reached_is_one_sentence(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert main(["sweep", "pendulum", "--ray", "auto", "--runs-dir", str(runs_dir)]) == 2
    said = capsys.readouterr().err
    assert "The Ray cluster auto cannot be reached" in said
    assert "td3-studio[ray]" in said
    assert "Traceback" not in said
    assert not os.path.exists(runs_dir)  # noqa: PTH110


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra td3-studio[ray]")
@pytest.mark.filterwarnings("ignore")
def test_ray_is_announced_on_this_machine_and_its_failure_blames_no_cluster(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("The node timed out.")

    monkeypatch.setattr("ray.init", fail)
    assert main(["sweep", "pendulum", "--ray", "local", "--runs-dir", str(runs_dir)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "Ray is starting on this machine.",
        "td3-studio: Ray could not be started on this machine: The node timed out.",
    ]
    assert not runs_dir.exists()


def test_without_ray_the_extra_is_named(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.experiments.sweeps.launch.find_spec", lambda name: None)
    assert main(["sweep", "pendulum", "--ray", "auto", "--runs-dir", str(runs_dir)]) == 2
    assert "td3-studio[ray]" in capsys.readouterr().err
    assert not runs_dir.exists()
