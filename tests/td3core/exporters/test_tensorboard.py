"""Event files, read by TensorBoard itself: tags, settings, and what a resumed run takes back."""

import errno
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.cli.final_film import film_folder
from td3core.errors import RequestError
from td3core.exporters.live.registry import TENSORBOARD, told_of_all_runs
from td3core.exporters.live.tensorboard import TensorBoardSink
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Warned
from td3core.protocol.metrics import training_row
from td3core.runs.tables import read_table
from td3core.training.launch import branch, resume, train
from td3core.training.verify_resume import verify
from tests.support.events import evaluated, progress
from tests.support.events import started as began
from tests.support.scripted import STEPS
from tests.td3core.helpers import finish, run, tiny

REASON = "the extra tensorboard is not installed"
EVALUATION = "eval/mean_reward"
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


def test_the_loss_of_the_critics_is_the_sum_of_theirs_or_that_of_the_only_one(
    tmp_path: Path, reader: Any
) -> None:
    losses = {50: (1.5, 2.0), 100: (3.0, np.nan), 150: (np.nan, np.nan)}
    rows = [
        training_row(step, step, {"critic1_loss": one, "critic2_loss": two})
        for step, (one, two) in losses.items()
    ]
    sink = TensorBoardSink(tmp_path)
    sink.report(began(*tiny("Pendulum-v1")))
    sink.report(progress(150, training=np.array(rows)))
    sink.close()
    found = opened(reader, tmp_path / "run")
    assert scalars(found, "train/critic_loss") == [(50, 3.5), (100, 3.0)]


def test_a_resumed_run_takes_back_what_was_written_after_its_checkpoint(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    config, tunables = tiny("Pendulum-v1", **VALUES)
    sink = TensorBoardSink(tmp_path)
    ended = train(config, tunables, Control(), lambda _: None, runs_dir, listeners=[sink])
    assert isinstance(ended, Ended), ended
    again = TensorBoardSink(tmp_path)
    started = began(config, tunables, 200, run=ended.run)
    again.report(started)
    again.report(evaluated(300, -7.0))
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


def test_a_run_keeps_its_curves_when_it_is_resumed_after_the_clock_went_back(
    tmp_path: Path, reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, tunables = tiny("Pendulum-v1")
    begun = time.time()
    for hours, reached in ((0, 0), (-1, 300), (-2, 600)):
        moment = begun + 3600 * hours
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        monkeypatch.setattr(time, "time_ns", lambda moment=moment: int(moment * 1e9))
        sink = TensorBoardSink(tmp_path)
        sink.report(began(config, tunables, reached))
        for step in (100, 200, 300):
            sink.report(evaluated(reached + step, 1.0 * hours))
        sink.close()
        sink.show_film(Path("run"), b"GIF89a", (4, 2), reached + 100)
    monkeypatch.undo()
    folder = tmp_path / "run"
    found = scalars(opened(reader, folder), EVALUATION)
    assert [step for step, _ in found] == [100, 200, 300, 400, 500, 600, 700, 800, 900]
    assert [value for _, value in found] == [0, 0, 0, -1, -1, -1, -2, -2, -2]
    assert films(reader, folder) == [(step, b"GIF8") for step in (100, 400, 700)]


@pytest.mark.slow
def test_a_resumed_run_averages_the_same_hundred_episodes_as_one_that_went_on(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    def averaged(steps: tuple[int, ...], name: str) -> list[tuple[int, float]]:
        first, *more = steps
        config, tunables = tiny(STEPS, steps=first, learning_starts=2000)
        sink = TensorBoardSink(tmp_path / name)
        ended = train(config, tunables, Control(), lambda _: None, runs_dir, listeners=[sink])
        assert isinstance(ended, Ended), ended
        for last in more:
            # A sink of its own, as in another process.
            sink = TensorBoardSink(tmp_path / name)
            resume(ended.run, Control(), lambda _: None, steps=last, listeners=[sink])
        return scalars(opened(reader, tmp_path / name / ended.run.name), "rollout/ep_rew_mean")

    found = averaged((1200, 1500), "resumed")
    assert len(found) == 150
    assert len({value for _, value in found}) > 100
    assert found == averaged((1500,), "whole")


def test_what_episodes_recorded_of_info_is_written_by_its_column(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    values = {"steps": 150, "info_columns": "reward_dist, reward_ctrl"}
    config, tunables = tiny("Reacher-v5", **values)
    sink = TensorBoardSink(tmp_path)
    ended = train(config, tunables, Control(), lambda _: None, runs_dir, listeners=[sink])
    assert isinstance(ended, Ended), ended
    rows = read_table(ended.run / "episodes.csv")
    found = opened(reader, tmp_path / ended.run.name)
    for column in ("info.reward_dist", "info.reward_ctrl"):
        written = scalars(found, f"rollout/{column}")
        assert [step for step, _ in written] == [50, 100, 150]
        assert [value for _, value in written] == pytest.approx(
            [float(row[column]) for row in rows]
        )


def test_a_folder_that_cannot_be_written_costs_no_run(
    runs_dir: Path, tmp_path: Path, reader: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    config, tunables = tiny("Pendulum-v1", **VALUES)
    sink = TensorBoardSink(tmp_path / "file")
    ended = train(config, tunables, Control(), lambda _: None, runs_dir, listeners=[sink])
    assert isinstance(ended, Ended), ended
    assert checkpoint.read_header(ended.last_checkpoint).counters.env_steps == 400
    assert "Stopped writing TensorBoard files" in caplog.text


class Disk(io.FileIO):
    """A file on a disk that may be full."""

    full = False

    def write(self, data: Any) -> int:
        self._require_space()
        return super().write(data)

    def flush(self) -> None:
        self._require_space()
        super().flush()

    def _require_space(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("noticed", ["in a report", "in a pause", "at the end"])
def test_a_disk_that_becomes_full_costs_a_warning_and_never_the_run(
    tmp_path: Path,
    reader: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    noticed: str,
) -> None:
    files: list[Disk] = []

    def create(path: str) -> Disk:
        files.append(Disk(path, "wb"))
        return files[-1]

    monkeypatch.setattr("tensorboardX.record_writer.open_file", create)
    sink = TensorBoardSink(tmp_path)
    sink.report(began(*tiny("Pendulum-v1")))
    files[0].full = True
    if noticed == "in a report":
        # More than any queue takes.
        for step in range(100):
            sink.report(evaluated(step, 1.0))
    if noticed == "in a pause":
        sink.idle()
    sink.close()
    assert [file.closed for file in files] == [True]
    assert caplog.text.count("Stopped writing TensorBoard files: No space left on device") == 1


def test_without_the_extra_nothing_starts(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(RequestError, match=r'pip install "td3-studio\[tensorboard\]"'):
        TensorBoardSink(tmp_path)
    words = ["train", "Pendulum-v1", "--runs-dir", str(runs_dir), "--tensorboard", str(tmp_path)]
    assert app.main(words) == 2
    assert list(runs_dir.glob("*")) == []


def test_every_run_of_a_process_writes_where_the_environment_says(
    runs_dir: Path, tmp_path: Path, reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TENSORBOARD.variable, str(tmp_path / "all"))
    first = finish(runs_dir, "Pendulum-v1", **VALUES)
    outcome = branch(
        first.last_checkpoint, {"tau": 0.1, "steps": 600}, Control(), lambda _: None, runs_dir
    )
    assert isinstance(outcome, Ended), outcome
    steps = [
        [step for step, _ in scalars(opened(reader, tmp_path / "all" / run.name), EVALUATION)]
        for run in (first.run, outcome.run)
    ]
    assert steps == [[200, 400], [600]]


def test_a_run_says_that_it_writes_no_event_files_and_trains(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TENSORBOARD.variable, str(tmp_path / "all"))
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    outcome, told = run(runs_dir, "Pendulum-v1", steps=200)
    assert isinstance(outcome, Ended), outcome
    warnings = [str(event.message) for event in told.all(Warned)]
    assert any("td3-studio[tensorboard]" in warning for warning in warnings)
    assert not (tmp_path / "all").exists()


def test_the_copies_of_a_check_write_no_event_files(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = finish(runs_dir)
    monkeypatch.setenv(TENSORBOARD.variable, str(tmp_path / "all"))
    assert verify(ended.run, steps=10).differences == ()
    assert not (tmp_path / "all").exists()


def test_the_option_holds_for_its_command_only(
    tmp_path: Path, reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TENSORBOARD.variable, raising=False)
    with told_of_all_runs({TENSORBOARD: tmp_path}):
        assert os.environ[TENSORBOARD.variable] == str(tmp_path)
    assert TENSORBOARD.variable not in os.environ
    monkeypatch.setenv(TENSORBOARD.variable, "mine")
    with told_of_all_runs({TENSORBOARD: tmp_path}), told_of_all_runs({}):
        assert os.environ[TENSORBOARD.variable] == str(tmp_path)
    assert os.environ[TENSORBOARD.variable] == "mine"


@pytest.mark.release
def test_every_run_of_a_group_writes_event_files(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    settings = [f"{name}={value}" for name, value in VALUES.items() if name != "steps"]
    settings += ["learning_starts=50", "eval_episodes=1", "actor_hidden=8", "critic_hidden=8"]
    words = ["train", "Pendulum-v1", "--seeds", "2", "--steps", "400", "--runs-dir", str(runs_dir)]
    options = [word for each in settings for word in ("--set", each)]
    assert app.main([*words, *options, "--tensorboard", str(tmp_path / "tb")]) == 0
    folders = sorted((tmp_path / "tb").iterdir())
    assert len(folders) == 2
    for folder in folders:
        found = scalars(opened(reader, folder), EVALUATION)
        assert [step for step, _ in found] == [200, 400]


@pytest.mark.slow
def test_a_followed_run_shows_its_best_agent_at_the_end(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    ended = finish(runs_dir, "Pendulum-v1", **VALUES)
    words = ["follow", str(ended.run), "--film"]
    assert app.main(words) == 2
    assert app.main([*words, "--tensorboard", str(tmp_path / "tb")]) == 0
    found = opened(reader, tmp_path / "tb" / ended.run.name)
    (film,) = found.Images("eval/film")
    assert film.encoded_image_string.startswith(b"GIF8")
    assert film.step in (200, 400)
    assert [step for step, _ in scalars(found, EVALUATION)] == [200, 400]


SHORT = ("eval_interval=200", "checkpoint_interval=200", "learning_starts=50", "eval_episodes=1")
SIZES = ("actor_hidden=8", "critic_hidden=8")
SMALL = tuple(word for each in (*SHORT, *SIZES) for word in ("--set", each))


def films(reader: Any, folder: Path) -> list[tuple[int, bytes]]:
    images = opened(reader, folder).Images("eval/film")
    return [(each.step, each.encoded_image_string[:4]) for each in images]


@pytest.mark.slow
def test_a_run_shows_a_film_of_its_best_agent_when_it_has_ended(
    runs_dir: Path, tmp_path: Path, reader: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "Pendulum-v1", "--steps", "400", *SMALL, "--film"]
    words += ["--runs-dir", str(runs_dir)]
    assert app.main(words) == 2
    assert "--film needs --tensorboard" in capsys.readouterr().err
    assert not runs_dir.exists() or not list(runs_dir.iterdir())
    shown = ["--tensorboard", str(tmp_path / "tb")]
    assert app.main([*words, *shown]) == 0
    (run,) = [each.name for each in (tmp_path / "tb").iterdir()]
    ((step, head),) = films(reader, tmp_path / "tb" / run)
    assert (step in (200, 400), head) == (True, b"GIF8")
    # What a resumed run shows comes besides, at the step of its own best agent.
    more = ["resume", run, "--steps", "600", "--runs-dir", str(runs_dir), "--film"]
    assert app.main([*more, *shown]) == 0
    assert {head for _, head in films(reader, tmp_path / "tb" / run)} == {b"GIF8"}
    found = scalars(opened(reader, tmp_path / "tb" / run), EVALUATION)
    assert [step for step, _ in found] == [200, 400, 600]


@pytest.mark.release
def test_every_run_of_a_group_shows_a_film(runs_dir: Path, tmp_path: Path, reader: Any) -> None:
    words = ["train", "Pendulum-v1", "--seeds", "2", "--steps", "400", *SMALL, "--film"]
    words += ["--runs-dir", str(runs_dir), "--tensorboard", str(tmp_path / "tb")]
    assert app.main(words) == 0
    folders = sorted((tmp_path / "tb").iterdir())
    assert [len(films(reader, folder)) for folder in folders] == [1, 1]


@pytest.mark.release
def test_a_film_of_a_run_is_shown_on_request_and_not_made_twice(
    runs_dir: Path, tmp_path: Path, reader: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = finish(runs_dir, "Pendulum-v1", **VALUES)
    words = ["film", str(ended.run), "--tensorboard", str(tmp_path / "tb"), "--json"]
    told = []
    for _ in range(2):
        assert app.main(words) == 0
        (film,) = json.loads(capsys.readouterr().out)["films"]
        told.append(film)
    first, second = told
    assert (first["new"], second) == (True, first | {"new": False})
    folder = tmp_path / "tb" / ended.run.name
    assert [str(each) for each in folder.iterdir()] == [first["file"]]
    assert films(reader, folder) == [(first["env_steps"], b"GIF8")]


def test_a_film_is_there_as_a_whole_once_and_goes_when_the_run_goes_back(
    runs_dir: Path, tmp_path: Path, reader: Any
) -> None:
    config, tunables = tiny("Pendulum-v1")
    run, folder = Path("run"), tmp_path / "run"
    sink = TensorBoardSink(tmp_path)
    sink.report(began(config, tunables))
    sink.close()
    for step in (200, 400, 1400):
        assert sink.film(run, step) is None
        made = sink.show_film(run, b"GIF89a", (4, 2), step)
        assert sink.film(run, step) == made
    assert films(reader, folder) == [(step, b"GIF8") for step in (200, 400, 1400)]
    assert not list(folder.glob("*.part"))
    (image, *_) = opened(reader, folder).Images("eval/film")
    assert (image.width, image.height) == (4, 2)
    sink.report(began(config, tunables, 400))
    sink.close()
    assert [sink.film(run, step) is not None for step in (200, 400, 1400)] == [True, True, False]
    assert [step for step, _ in films(reader, folder)] == [200, 400]


def test_a_film_is_shown_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TENSORBOARD.variable, raising=False)
    with pytest.raises(RequestError, match="--film needs --tensorboard"):
        film_folder(True, {}, "Pendulum-v1")
    monkeypatch.setenv(TENSORBOARD.variable, str(tmp_path / "all"))
    assert film_folder(True, {}, "Pendulum-v1") == tmp_path / "all"
    assert film_folder(True, {TENSORBOARD: tmp_path}, "Pendulum-v1") == tmp_path
    assert film_folder(False, {}, "Pendulum-v1") is None


@pytest.mark.slow
def test_a_film_that_cannot_be_made_costs_no_run(
    runs_dir: Path,
    tmp_path: Path,
    reader: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from td3core.cli.report import films as filming

    said: list[BaseException] = [RequestError("It has no pictures."), KeyboardInterrupt()]

    def fail(*_: object) -> Any:
        raise said.pop(0)

    monkeypatch.setattr(filming, "film_agent", fail)
    words = ["train", "Pendulum-v1", "--steps", "200", *SMALL, "--film", "--json"]
    words += ["--runs-dir", str(runs_dir), "--tensorboard", str(tmp_path / "tb")]
    for reason in ("It has no pictures.", "Interrupted."):
        assert app.main(words) == 0
        told = capsys.readouterr()
        assert f"There is no film: {reason}" in " ".join(told.err.split())
        assert json.loads(told.out.splitlines()[-1])["env_steps"] == 200


@pytest.mark.slow
def test_ctrl_c_ends_only_the_film_of_a_followed_run(
    runs_dir: Path,
    tmp_path: Path,
    reader: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from td3core.cli.report import films as filming

    def interrupt(*_: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(filming, "film_agent", interrupt)
    ended = finish(runs_dir, "Pendulum-v1", **VALUES)
    words = ["follow", str(ended.run), "--film", "--tensorboard", str(tmp_path / "tb"), "--json"]
    assert app.main(words) == 0
    told = capsys.readouterr()
    assert "There is no film: Interrupted." in " ".join(told.err.split())
    assert json.loads(told.out.splitlines()[-1])["state"] == "finished"


@pytest.mark.slow
def test_weights_and_biases_takes_the_curves_as_the_manual_says(
    runs_dir: Path, tmp_path: Path, root: Path
) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    page = (root / "resources" / "manual" / "follow.md").read_text("utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    assert '"RUN"' in code
    ended = finish(runs_dir, "Pendulum-v1", **VALUES)
    offline = os.environ | {"WANDB_MODE": "offline", "PYTHONPATH": str(root)}
    words = [sys.executable, "-c", code.replace('"RUN"', repr(str(ended.run)))]
    done = subprocess.run(words, cwd=tmp_path, env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (record,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    kept = record.read_bytes()
    for tag in (EVALUATION, "rollout/ep_rew_mean", "train/critic_loss"):
        assert tag.encode() in kept


def test_a_start_without_event_files_loads_no_writer_of_them(root: Path) -> None:
    code = (
        "import sys, td3core.cli.app; print({'tensorboardX', 'google.protobuf'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
