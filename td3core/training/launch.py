"""The ways to begin a run: anew, where it was interrupted, or from a checkpoint of another.

These are plain functions. The command line calls them directly, the window calls them inside a
QThread; both hand over a :class:`~td3core.protocol.control.Control` to listen to and a ``report``
to speak to. Everything a run says goes to ``report``, in this thread; the last thing it says is
also returned. No exception escapes: what goes wrong is said as :class:`Failed`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from td3core.algorithm.device import require_device
from td3core.buffer.replay_buffer import SLACK, make_buffer
from td3core.checkpoint import Checkpoint
from td3core.config import RunConfig, Tunables, check_together
from td3core.envs.check.examine import check_before_training
from td3core.envs.make import check_env
from td3core.envs.vector import VectorEnv
from td3core.errors import RequestError, RunError, traceback_of
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Warned
from td3core.runs.branching import buffer_file_of, parent_of, prepare_branch
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change
from td3core.runs.lock import RunLock
from td3core.runs.resumption import (
    choose_checkpoint,
    pending_changes,
    require_same_sizes,
    resume_point,
    with_total_steps,
)
from td3core.training.divergence import DivergedError
from td3core.training.recorder import Report
from td3core.training.schedule import Schedule
from td3core.training.trainer import Trainer

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """Where a run begins: with which settings, in which folder, after which checkpoint."""

    config: RunConfig
    tunables: Tunables
    directory: Callable[[], RunDirectory]
    """Opens or makes the folder. Called last: a request that cannot be met leaves no trace."""
    origin: str = ""
    """How it came to begin after ``saved``: ``resume`` or ``branch``."""
    saved: Checkpoint | None = None
    schedule: Schedule = field(default_factory=Schedule)
    repeated_steps: int = 0
    """Steps on record after ``saved``, which are taken again."""
    deviations: tuple[str, ...] = ()
    """What will not be as if the run had never been interrupted, in sentences."""


def train(
    config: RunConfig,
    tunables: Tunables,
    control: Control,
    report: Report,
    runs_dir: Path,
    schedule: Sequence[Change] = (),
) -> Ended | Failed:
    """Train one agent from the start to its last step, or until told to stop.

    ``schedule`` are live changes made at their steps, such as those of another run's journal.
    """

    def begin(resources: ExitStack) -> RunPlan:
        def make() -> RunDirectory:
            made = RunDirectory.create(runs_dir, config, tunables)
            resources.enter_context(RunLock(made.path))
            return made

        return RunPlan(
            config=config,
            tunables=tunables,
            directory=make,
            schedule=Schedule(schedule),
        )

    return _conduct(begin, control, report)


def resume(
    run: Path, control: Control, report: Report, *, steps: int | None = None
) -> Ended | Failed:
    """Go on with a run where its last checkpoint left it, as if it had never been interrupted.

    Live changes made after that checkpoint are made again at their steps. ``steps`` is the new
    length of the whole run.
    """

    def begin(resources: ExitStack) -> RunPlan:
        # Nobody may write to a run between the look at it and its going on.
        resources.enter_context(RunLock(RunDirectory.open(run).path))
        directory = RunDirectory.open(run)
        saved, deviations = choose_checkpoint(directory)
        directory = with_total_steps(directory, saved, steps)

        reached, unlogged = (0, False) if saved is None else resume_point(saved)

        def reopen() -> RunDirectory:
            directory.prepare_resume(reached, unlogged=unlogged)
            return directory

        return RunPlan(
            config=directory.config,
            tunables=saved.header.tunables if saved else directory.first_tunables,
            directory=reopen,
            origin="resume",
            saved=saved,
            schedule=Schedule(pending_changes(directory, saved), journaled=True),
            repeated_steps=max(directory.steps_on_record() - reached, 0),
            deviations=deviations,
        )

    return _conduct(begin, control, report)


def branch(
    checkpoint: Path,
    values: Mapping[str, Any],
    control: Control,
    report: Report,
    runs_dir: Path,
) -> Ended | Failed:
    """Begin a new run with everything a checkpoint holds, but for the settings in ``values``.

    The checkpoint's run is left as it is.
    """

    def begin(resources: ExitStack) -> RunPlan:
        saved, config, tunables = prepare_branch(checkpoint, values)

        def make() -> RunDirectory:
            made = RunDirectory.create(runs_dir, config, tunables, parent_of(saved))
            resources.enter_context(RunLock(made.path))
            made.adopt_buffer(buffer_file_of(checkpoint))
            return made

        return RunPlan(
            config=config, tunables=tunables, directory=make, origin="branch", saved=saved
        )

    return _conduct(begin, control, report)


def _conduct(
    begin: Callable[[ExitStack], RunPlan], control: Control, report: Report
) -> Ended | Failed:
    """Make a run of a beginning, and see it through."""
    outcome: Ended | Failed
    trainer = None
    with ExitStack() as resources:
        try:
            trainer = _prepare(begin(resources), control, report, resources)
            outcome = trainer.run()
        except RequestError as problem:
            outcome = Failed(message=str(problem), details="", request=True)
        except Exception as problem:
            log.debug("the run failed", exc_info=True)
            outcome = _failure(problem, trainer)
        if trainer is not None:
            trainer.write_ending(outcome)
    report(outcome)
    return outcome


def _prepare(how: RunPlan, control: Control, report: Report, resources: ExitStack) -> Trainer:
    """Take everything a run needs; ``resources`` lets go of it again."""
    config = how.config
    check_together(config, how.tunables)
    require_device(config.device)
    torch.set_num_threads(config.torch_threads)
    info = check_env(config.choice)
    for message in check_before_training(config, info):
        report(Warned(env_steps=0, message=message))
    if how.saved is not None:
        require_same_sizes(how.saved, info)
    buffer = make_buffer(
        config.buffer_size, info.obs_dim, info.act_dim, SLACK if config.keep_replay else 0
    )
    # The actor's forward pass is too small to gain from more threads, and they would spin.
    resources.enter_context(threadpool_limits(1, user_api="blas"))
    envs = resources.enter_context(VectorEnv(config, info))
    directory = how.directory()
    trainer = Trainer(directory, how.tunables, control, report, info, buffer, envs, how.schedule)
    resources.callback(trainer.close)
    trainer.repeated_steps = how.repeated_steps
    trainer.deviations.extend(how.deviations)
    if how.saved is not None:
        trainer.resume_from(how.saved, origin=how.origin)
    return trainer


def _failure(problem: Exception, trainer: Trainer | None) -> Failed:
    text = str(problem) if isinstance(problem, RunError) else f"{type(problem).__name__}: {problem}"
    details = traceback_of(problem)
    if trainer is None:
        return Failed(message=text, details=details)
    trainer.rescue(problem)
    diverged = isinstance(problem, DivergedError)
    ending = trainer.ending("failed")
    return Failed(message=text, details=details, ending=ending, diverged=diverged)
