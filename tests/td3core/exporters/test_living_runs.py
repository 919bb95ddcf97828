"""Every format is exported from a run that trains, and the run is the one it would have been."""

from pathlib import Path

import pytest

from td3core import checkpoint
from td3core.exporters.registry import EXPORTERS
from td3core.protocol.events import Ended, Event, Saved
from td3core.runs.lock import left_behind
from tests.td3core.helpers import finish, run, same, tensors

VALUES = {"steps": 90, "checkpoint_interval": 30}


@pytest.mark.parametrize(
    "exporter",
    [
        pytest.param(each, id=each.name, marks=pytest.mark.slow if each.name in SLOW else ())
        for SLOW in [("hub", "onnx", "video")]
        for each in EXPORTERS
    ],
)
def test_a_run_that_trains_is_exported(exporter, runs_dir: Path, tmp_path: Path) -> None:
    if exporter.name == "onnx":
        pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    targets: list[Path] = []

    def export(event: Event) -> None:
        if isinstance(event, Saved) and len(targets) < 2:
            (path,) = runs_dir.iterdir()
            # Somebody trains it.
            assert left_behind(path)
            target = tmp_path / f"agent{len(targets)}{exporter.suffixes[0]}"
            exporter.export(event.path, target)
            targets.append(target)

    outcome, _ = run(runs_dir, "Pendulum-v1", react=export, **VALUES)
    assert isinstance(outcome, Ended), outcome
    assert [each.exists() for each in targets] == [True, True]
    assert checkpoint.read_header(outcome.last_checkpoint).counters.env_steps == 90
    undisturbed = finish(tmp_path / "others", "Pendulum-v1", **VALUES)
    assert same(tensors(outcome.last_checkpoint), tensors(undisturbed.last_checkpoint))
