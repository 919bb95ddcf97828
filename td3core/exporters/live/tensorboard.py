"""Writes a run's curves as TensorBoard event files while it trains or is followed."""

import contextlib
import logging
import re
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from td3core.config import RunConfig, Tunables, to_dict
from td3core.errors import file_reason
from td3core.protocol.events import (
    Ended,
    Episodes,
    Evaluated,
    Event,
    Failed,
    Interrupted,
    Progress,
    Started,
)
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs.tables import read_numbers
from td3core.system.files import make_folder, write_atomically
from td3core.system.packages import missing

if TYPE_CHECKING:
    from tensorboardX.event_file_writer import EventFileWriter, EventsWriter

log = logging.getLogger(__name__)

WINDOW = 100
"""Number of episodes that stable-baselines3 averages."""
_FLUSH_S = 120.0
_FILM = ".film"
"""Suffix of a film's file name, preceded by the steps of its agent."""
_EVENT_FILE = re.compile(r"events\.out\.tfevents\.(\d{10})\.")
"""Name of an event file, with its time in seconds since 1970."""


def installed() -> bool:
    """Return whether event files can be written."""
    return find_spec("tensorboardX") is not None


class TensorBoardSink:
    """A listener that writes scalars under the tags of stable-baselines3, and the settings.

    Each run has a folder of its own. When a run is resumed, TensorBoard drops everything written
    after the step it continues from.
    """

    def __init__(self, folder: Path) -> None:
        """Write into a subfolder of ``folder`` per run, which is made when the run starts.

        Raises:
            RequestError: tensorboardX is not installed.
        """
        try:
            # Imported here: it is an extra, and takes a moment to load.
            import tensorboardX  # noqa: F401
        except ImportError as problem:
            raise missing("TensorBoard", "tensorboard", problem) from problem
        # An environment may change the current folder.
        self._folder = folder.absolute()
        self._writer: EventFileWriter | None = None
        self._flush_at = 0.0
        self._recent: deque[tuple[int, float, float]] = deque(maxlen=WINDOW)

    def report(self, event: Event) -> None:
        """Write an event; a folder that cannot be written causes a warning, and the run goes on."""
        with self._guarded():
            self._take(event)
            if time.monotonic() >= self._flush_at:
                self._flush()

    def idle(self) -> None:
        """Flush while the run is paused."""
        with self._guarded():
            self._flush()

    def close(self) -> None:
        """Flush and close the file."""
        with self._guarded():
            if self._writer is not None:
                self._writer.close()
            self._writer = None

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """After a failed write, log a warning and stop writing."""
        try:
            yield
        except OSError as problem:
            log.warning("Stopped writing TensorBoard files: %s", file_reason(problem))
            writer, self._writer = self._writer, None
            if writer is not None:
                # Its own ``close`` flushes first, which would fail again.
                writer._worker.stop()
                with contextlib.suppress(OSError):
                    writer._ev_writer._py_recordio_writer.close()

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()
            self._flush_at = time.monotonic() + _FLUSH_S

    def film(self, run: Path, env_steps: int) -> Path | None:
        """Return the film of a run's agent after ``env_steps``; None if there is none."""
        return next((self._folder / run.name).glob(f"*.{env_steps}{_FILM}"), None)

    def show_film(self, run: Path, gif: bytes, size: tuple[int, int], env_steps: int) -> Path:
        """Add an animated GIF to the images of a run; ``size`` is its width and height.

        Returns:
            The event file, which is written completely or not at all.

        Raises:
            OSError: the folder cannot be written.
        """
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        width, height = size
        image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=gif)
        summary = Summary(value=[Summary.Value(tag="eval/film", image=image)])
        now = time.time()
        events = (
            Event(wall_time=now, file_version="brain.Event:2"),
            Event(wall_time=now, step=env_steps, summary=summary),
        )
        folder = self._folder / run.name
        make_folder(folder)
        file = folder / f"{_next_name(folder)}.{env_steps}{_FILM}"
        # Renamed when complete: TensorBoard reads every file with the name of an event file.
        made = folder / f".{env_steps}.part"
        write_atomically(made, b"".join(_record(each.SerializeToString()) for each in events))
        return made.replace(file)

    def _take(self, event: Event) -> None:
        match event:
            case Started():
                self._start(event)
            case Progress():
                self._add_episodes(event.ended)
                self._add_training(event)
            case Evaluated():
                self._add(event.env_steps, "eval/mean_reward", event.mean)
                if event.lengths:
                    self._add(event.env_steps, "eval/mean_ep_length", float(np.mean(event.lengths)))
            case Ended() | Failed() | Interrupted():
                self.close()

    def _start(self, event: Started) -> None:
        from tensorboardX import writer
        from tensorboardX.proto.event_pb2 import SessionLog

        self.close()
        self._recent = deque(_episodes_up_to(event.env_steps, event.run), WINDOW)
        folder = self._folder / event.run.name
        _drop_films(folder, after=event.env_steps)
        # The time in the writer's own name has whole seconds.
        suffix = f".{time.time_ns()}"
        # Looked up in the module: W&B patches this name to learn of the folder.
        self._writer = writer.EventFileWriter(str(folder), filename_suffix=suffix)
        _make_last(self._writer._ev_writer)
        self._flush_at = 0.0
        # TensorBoard drops the records from this step on.
        purged = event.env_steps + 1
        self._write(purged, file_version="brain.Event:2")
        self._write(purged, session_log=SessionLog(status=SessionLog.START))
        self._add_settings(event.config, event.tunables)

    def _add_settings(self, config: RunConfig, tunables: Tunables) -> None:
        from tensorboardX.summary import hparams

        settings = to_dict(config) | to_dict(tunables)
        plain = {name: _plain(value) for name, value in settings.items()}
        for summary in hparams(plain, {"eval/mean_reward": 0.0})[:2]:
            self._write(0, summary=summary)

    def _add_episodes(self, ended: Episodes) -> None:
        for step, total, length in ended.columns("env_steps", "episode_return", "length"):
            self._recent.append((int(step), total, length))
            _, returns, lengths = zip(*self._recent, strict=True)
            self._add(int(step), "rollout/ep_rew_mean", float(np.mean(returns)))
            self._add(int(step), "rollout/ep_len_mean", float(np.mean(lengths)))
        # Not in stable-baselines3: the info columns of episodes.csv.
        for column in ended.info_columns:
            for step, value in ended.columns("env_steps", column):
                self._add(int(step), f"rollout/{column}", float(value))

    def _add_training(self, event: Progress) -> None:
        for row in event.training:
            values = dict(zip(TRAINING_COLUMNS, row, strict=True))
            step, losses = (
                int(values["env_steps"]),
                (values["critic1_loss"], values["critic2_loss"]),
            )
            if not np.isnan(losses).all():
                # stable-baselines3 adds the losses of both critics.
                self._add(step, "train/critic_loss", float(np.nansum(losses)))
            for name in ("actor_loss", "q1", "q2", "target"):
                self._add(step, f"train/{name}", float(values[name]))
            self._add(step, "train/n_updates", float(values["updates"]))
        if event.steps_per_s > 0:
            self._add(event.env_steps, "time/fps", event.steps_per_s)

    def _add(self, step: int, tag: str, value: float) -> None:
        from tensorboardX.summary import scalar

        if not np.isnan(value):
            self._write(step, summary=scalar(tag, value))

    def _write(self, step: int, **content: Any) -> None:
        from tensorboardX.proto.event_pb2 import Event

        if self._writer is not None:
            record = Event(wall_time=time.time(), step=step, **content)
            # Bypasses the writer's queue: its thread ends at the first error, and the full queue
            # would then block the run forever.
            self._writer._ev_writer.write_event(record)


def _next_name(folder: Path) -> str:
    """Return a name for an event file that sorts after those in the folder.

    TensorBoard reads them in this order. The time is not enough: a clock may have been set back.
    """
    found = (_EVENT_FILE.match(file.name) for file in folder.iterdir())
    after = (int(each[1]) + 1 for each in found if each)
    time_s = max((int(time.time()), *after))
    return f"events.out.tfevents.{time_s:010}.{socket.gethostname()}.{time.time_ns()}"


def _make_last(writer: "EventsWriter") -> None:
    """Let a file in which nothing has been written yet be the last that TensorBoard reads."""
    from tensorboardX.record_writer import RecordWriter

    file = Path(writer._file_name)
    if file.name == max(other.name for other in file.parent.glob("events.out.tfevents.*")):
        return
    # Opened anew: Windows does not rename an open file.
    writer.close()
    file.unlink()
    writer._py_recordio_writer = RecordWriter(str(file.with_name(_next_name(file.parent))))


def _drop_films(folder: Path, after: int) -> None:
    """Remove the films of agents after this step: TensorBoard drops them as well."""
    for file in folder.glob(f"*{_FILM}"):
        env_steps = file.stem.rpartition(".")[2]
        if env_steps.isdecimal() and int(env_steps) > after:
            with contextlib.suppress(OSError):
                file.unlink()


def _episodes_up_to(env_steps: int, run: Path) -> list[tuple[int, float, float]]:
    """Return step, return and length of the latest episodes before a run continues from a step."""
    if not env_steps:
        return []
    rows = read_numbers(run / "episodes.csv", ("env_steps", "return", "length"))
    return [(int(row[0]), row[1], row[2]) for row in rows[rows[:, 0] <= env_steps][-WINDOW:]]


def _record(data: bytes) -> bytes:
    """Frame a message as TFRecord does."""
    from tensorboardX.record_writer import masked_crc32c

    length = struct.pack("<Q", len(data))
    checks = (struct.pack("<I", masked_crc32c(each)) for each in (length, data))
    return length + next(checks) + data + next(checks)


def _plain(value: Any) -> bool | int | float | str:
    return value if isinstance(value, bool | int | float | str) else str(value)
