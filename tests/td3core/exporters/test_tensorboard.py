"""Event files, read by TensorBoard itself: tags, settings, and what a resumed run takes back."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.errors import RequestError
from td3core.exporters.live.tensorboard import TensorBoardSink
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated, Started
from td3core.training.launch import resume, train
from tests.td3core.helpers import finish, tiny

REASON = "the extra tensorboard is not installed"
VALUES = {"steps": 400, "eval_interval": 200, "checkpoint_interval": 200}


@pytest.fixture
def reader() -> Any:
    pytest.importorskip("tensorboardX", reason=REASON)
    name = "tensorboard.backend.event_processing.event_accumulator"
    return pytest.importorskip(name, reason=REASON).EventAccumulator


def opened(reader: Any, folder: Path) -> Any:
    found = reader(str(folder))
    found.Reload()
    return found


def scalars(found: Any, tag: str) -> list[tuple[int, float]]:
    return [(each.step, each.value) for each in found.Scalars(tag)]


def test_a_followed_run_has_its_curves_under_the_tags_of_stable_baselines3(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    ended = finish(runs_dir, "Pendulum-v1", **VALUES)
    assert app.main(["follow", str(ended.run), "--tensorboard", str(tmp_path / "tb")]) == 0
    found = opened(reader, tmp_path / "tb" / ended.run.name)
    assert {
        *("rollout/ep_rew_mean", "rollout/ep_len_mean", "eval/mean_reward", "eval/mean_ep_length"),
        *("train/critic_loss", "train/actor_loss", "train/n_updates"),
    } <= set(found.Tags()["scalars"])
    assert [step for step, _ in scalars(found, "eval/mean_reward")] == [200, 400]
    best = ended.last_eval_return
    assert scalars(found, "eval/mean_reward")[-1][1] == pytest.approx(best)
    assert scalars(found, "rollout/ep_len_mean") == [(200, 200.0), (400, 200.0)]
    assert "_hparams_/session_start_info" in found.summary_metadata


def test_a_resumed_run_takes_back_what_was_written_after_its_checkpoint(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    config, tunables = tiny("Pendulum-v1", **VALUES)
    sink = TensorBoardSink(tmp_path)
    ended = train(config, tunables, Control(), lambda _: None, runs_dir, listeners=[sink])
    assert isinstance(ended, Ended), ended
    again = TensorBoardSink(tmp_path)
    started = Started(
        run=ended.run,
        config=config,
        tunables=tunables,
        env_steps=200,
        device="cpu",
        threads=1,
    )
    evaluated = partial(Evaluated, lengths=(200,), seed=0, is_best=False, wall_s=1.0)
    again.report(started)
    again.report(evaluated(env_steps=300, returns=(-7.0,)))
    again.close()
    found = opened(reader, tmp_path / ended.run.name)
    kept, new = scalars(found, "eval/mean_reward")
    assert (kept[0], new) == (200, (300, -7.0))
    assert scalars(found, "rollout/ep_len_mean") == [(200, 200.0)]


def test_a_run_that_goes_on_appends_its_curves(runs_dir: Path, tmp_path: Path, reader: Any) -> None:
    config, tunables = tiny("Pendulum-v1", **VALUES)
    listeners = [TensorBoardSink(tmp_path)]
    ended = train(config, tunables, Control(), lambda _: None, runs_dir, listeners=listeners)
    assert isinstance(ended, Ended), ended
    listeners = [TensorBoardSink(tmp_path)]
    more = resume(ended.run, Control(), lambda _: None, steps=600, listeners=listeners)
    assert isinstance(more, Ended), more
    found = opened(reader, tmp_path / ended.run.name)
    assert [step for step, _ in scalars(found, "eval/mean_reward")] == [200, 400, 600]
    assert [step for step, _ in scalars(found, "rollout/ep_rew_mean")] == [200, 400, 600]


def test_a_folder_that_cannot_be_written_costs_no_run(
    runs_dir: Path, tmp_path: Path, reader: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    config, tunables = tiny("Pendulum-v1", **VALUES)
    sink = TensorBoardSink(tmp_path / "file")
    ended = train(config, tunables, Control(), lambda _: None, runs_dir, listeners=[sink])
    assert isinstance(ended, Ended), ended
    assert checkpoint.read_header(ended.last_checkpoint).counters.env_steps == 400
    assert "TensorBoard is written no more" in caplog.text


def test_without_the_extra_nothing_starts(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(RequestError, match=r'pip install "td3-studio\[tensorboard\]"'):
        TensorBoardSink(tmp_path)
    words = ["train", "Pendulum-v1", "--runs-dir", str(runs_dir), "--tensorboard", str(tmp_path)]
    assert app.main(words) == 2
    assert list(runs_dir.glob("*")) == []


def test_a_start_without_event_files_loads_no_writer_of_them(root: Path) -> None:
    code = (
        "import sys, td3core.cli.app; print({'tensorboardX', 'google.protobuf'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
