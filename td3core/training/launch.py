"""The ways to start a run: from scratch, resumed, or branched from another run's checkpoint.

These are plain functions. The command line calls them directly, the window in a QThread; both pass
a :class:`~td3core.protocol.control.Control` for requests and a ``report`` callback. All events of a
run go to ``report``, in this thread; the last one is also returned. Errors are not raised: they
become :class:`~td3core.protocol.events.Failed`. Only a child process that trains while it imports
the program's main file gets a :class:`~td3core.errors.RequestError`, so that nothing after it runs.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from td3core.algorithm import engine, fingerprint
from td3core.algorithm.agent import make_agent
from td3core.algorithm.device import require_device, require_memory
from td3core.algorithm.fused import kernel_cache
from td3core.buffer.buffer_file import SUMS, ring_in
from td3core.buffer.replay_buffer import make_buffer
from td3core.buffer.rows import RowLayout
from td3core.config import EnvChoice, RunConfig, Tunables, at_step, check_together
from td3core.config.run_config import COMPILED, TORCH
from td3core.envs.check import identity
from td3core.envs.check.examine import check_before_training, check_info_columns
from td3core.envs.check.rehearsal import rehearse
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env, forget_changed_code
from td3core.envs.vector import VectorEnv
from td3core.errors import (
    RequestError,
    RunError,
    StoppedError,
    reason_of,
    require_no_interrupt,
    traceback_of,
)
from td3core.exporters.live.registry import wanted_sinks
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Preparing, Warned
from td3core.protocol.listeners import Listener, Listeners
from td3core.remote.access import RemoteAccess
from td3core.runs.branching import parent_of, prepare_branch
from td3core.runs.directory import RunDirectory, note_module_folder, require_writable
from td3core.runs.journal import Change, changes_of, scheduled
from td3core.runs.layout import REPLAY, run_of
from td3core.runs.listing import steps_of_last
from td3core.runs.lock import LockedError, RunLock
from td3core.runs.resumption import (
    ResumePoint,
    class_on_record,
    journal_for,
    pending_changes,
    require_same_sizes,
    resume_point,
    with_recorded_numerics,
    with_total_steps,
)
from td3core.system import blas, numerics
from td3core.system.child_process import require_main_imported
from td3core.system.isolation import Isolation
from td3core.text import Text
from td3core.training.divergence import DivergedError
from td3core.training.live_settings import Schedule
from td3core.training.recorder import Report
from td3core.training.trainer import Trainer

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """How a run starts: its settings, folder and checkpoint."""

    config: RunConfig
    tunables: Tunables
    directory: Callable[[RunConfig], RunDirectory]
    """Opens or creates the folder of a run with these settings. Called last, so that a refused
    request leaves no trace."""
    may_take_torch: bool = False
    """Fall back to torch's update if the compiled one proves unavailable."""
    point: ResumePoint | None = None
    schedule: Schedule = field(default_factory=Schedule)
    repeated_steps: int = 0
    """Recorded steps after ``point``, which are repeated."""
    notices: tuple[Text, ...] = ()
    """Warnings to report that are not deviations."""
    exact: bool = False
    """Refuse the run if it would differ from one that was never interrupted."""
    undo: list[Callable[[], None]] = field(default_factory=list)
    """Called if the run is refused after its folder was prepared."""


def train(
    config: RunConfig,
    tunables: Tunables,
    control: Control,
    report: Report,
    runs_dir: Path,
    schedule: Sequence[Change] = (),
    *,
    group: str = "",
    listeners: Sequence[Listener] = (),
) -> Ended | Failed:
    """Train one agent from scratch to its last step, or until a stop is requested.

    ``schedule`` holds live changes by step, such as those of another run's journal. They are in the
    new run's journal from its beginning. The code of an environment named as ``module:Class`` must
    have been allowed: settings may come from a file (see :mod:`td3core.envs.trust`). ``group`` is
    the name of the group of runs that this one belongs to. ``listeners`` get every event after
    ``report``; their ``idle`` is called while the run is paused.
    """
    # An environment may change the current folder.
    runs_dir = runs_dir.absolute()
    tunables = at_step(tunables, 0, config.steps)

    def plan(resources: ExitStack) -> RunPlan:
        require_writable(runs_dir)
        resolved = engine.resolve(config)
        entries = scheduled(schedule, tunables, config.num_envs)

        def make(config: RunConfig) -> RunDirectory:
            claim = partial(_lock, resources=resources)
            return RunDirectory.create(
                runs_dir, config, tunables, group=group, schedule=entries, claim=claim
            )

        return RunPlan(
            config=resolved,
            may_take_torch=config.engine == numerics.AUTO,
            tunables=tunables,
            directory=make,
            schedule=Schedule(changes_of(entries)),
        )

    return _conduct(plan, control, Listeners(report, listeners))


def resume(
    run: Path,
    control: Control,
    report: Report,
    *,
    steps: int | None = None,
    exact: bool = False,
    listeners: Sequence[Listener] = (),
    sinks: bool = True,
) -> Ended | Failed:
    """Continue a run from its last checkpoint, as if it had never been interrupted.

    Live changes made after that checkpoint are repeated at their steps. ``steps`` is the new length
    of the whole run. If the run would not be the same bit for bit, this is reported as a warning;
    with ``exact`` the run is refused. Without ``sinks``, the live sinks that the environment names
    for every run get nothing of this one.
    """
    run = run.absolute()

    def plan(resources: ExitStack) -> RunPlan:
        # No other process may write to the run between reading it here and resuming it.
        lock = resources.enter_context(RunLock(RunDirectory.open(run).path))
        directory = RunDirectory.open(run)
        note_module_folder(run)
        point = resume_point(directory)
        saved = point.saved if point else None
        reached = point.env_steps if point else 0
        before, directory = directory, with_total_steps(directory, saved, steps)
        entries = journal_for(before, saved, directory.config.steps)
        recorded = saved.header.numerics if saved else {}
        config, notices = with_recorded_numerics(directory.config, recorded)
        config = engine.resolve_again(config)

        undo: list[Callable[[], None]] = []

        def reopen(config: RunConfig) -> RunDirectory:
            if exact:
                undo.append(directory.keep_written())
            reopened = directory.with_config(config, rewritten=lock.renew)
            reopened.prepare_resume(
                reached, entries, unlogged=point is not None and point.has_early_row
            )
            return reopened

        return RunPlan(
            config=config,
            may_take_torch=True,
            tunables=saved.header.tunables if saved else directory.first_tunables,
            directory=reopen,
            point=point,
            schedule=Schedule(pending_changes(entries, saved)),
            repeated_steps=max(directory.steps_on_record() - reached, 0),
            notices=tuple(notices),
            exact=exact,
            undo=undo,
        )

    return _conduct(plan, control, Listeners(report, listeners), sinks=sinks)


def branch(
    checkpoint: Path,
    values: Mapping[str, Any],
    control: Control,
    report: Report,
    runs_dir: Path,
    schedule: Sequence[Change] | None = None,
    *,
    group: str = "",
    listeners: Sequence[Listener] = (),
) -> Ended | Failed:
    """Start a new run from the full state of a checkpoint, with ``values`` for some settings.

    The checkpoint's run is not changed. Scheduled changes of that run that are still to come are
    made in the branch as well, except those of settings in ``values``; or, if it is given, the
    changes of ``schedule`` from the checkpoint's step on instead. With another ``seed`` the
    branch begins new episodes, and its generators start from that seed. ``group`` as in
    :func:`train`.
    """
    checkpoint, runs_dir = checkpoint.absolute(), runs_dir.absolute()

    def plan(resources: ExitStack) -> RunPlan:
        require_writable(runs_dir)
        point, config, tunables, to_come = prepare_branch(checkpoint, values)
        if schedule is not None:
            to_come = [change for change in schedule if change.env_steps >= point.env_steps]
        note_module_folder(checkpoint)
        recorded = point.saved.header.numerics
        config, notices = with_recorded_numerics(config, recorded)
        if "numerics" in values or "engine" in values:
            config = engine.resolve(config)
        config = engine.resolve_again(config)
        entries = scheduled(to_come, tunables, config.num_envs)

        def make(config: RunConfig) -> RunDirectory:
            claim = partial(_lock, resources=resources)
            made = RunDirectory.create(
                runs_dir, config, tunables, parent_of(point), group, entries, claim
            )
            origin = run_of(checkpoint.resolve())
            if config.keep_replay and origin is not None:
                made.adopt_buffer(origin / REPLAY)
            return made

        return RunPlan(
            config=config,
            may_take_torch=values.get("engine") != COMPILED,
            tunables=tunables,
            directory=make,
            point=point,
            schedule=Schedule(changes_of(entries)),
            notices=tuple(notices),
        )

    return _conduct(plan, control, Listeners(report, listeners))


def _lock(run: Path, resources: ExitStack) -> Callable[[], None]:
    """Lock a run; return a function that locks it again when its folder has been recreated."""
    return resources.enter_context(RunLock(run)).renew


def _conduct(
    plan: Callable[[ExitStack], RunPlan],
    control: Control,
    listeners: Listeners,
    *,
    sinks: bool = True,
) -> Ended | Failed:
    """Execute a plan, from preparation to the recorded ending; return the outcome."""
    require_main_imported()
    outcome: Ended | Failed
    trainer: Trainer | None = None
    access: RemoteAccess | None = None
    wanted, unwritten = wanted_sinks() if sinks else ([], [])
    for sink in wanted:
        listeners.add(sink)
    for message in unwritten:
        listeners.report(Warned(env_steps=0, message=message))
    with ExitStack() as resources:
        try:
            trainer, access = _prepare(plan(resources), control, listeners, resources)
            outcome = trainer.run()
        except StoppedError:
            message = Text("Stopped before the first step.")
            outcome = Failed(message=message, details="", cancelled=True)
        except BaseException as problem:
            # Such as sys.exit in an environment: a run that ends early has failed.
            require_no_interrupt(problem)
            if isinstance(problem, RequestError) and trainer is None:
                locked = isinstance(problem, LockedError)
                outcome = Failed(message=problem.message, details="", request=True, locked=locked)
            else:
                log.debug("the run failed", exc_info=True)
                outcome = _failure(problem, trainer)
        if trainer is not None:
            trainer.write_ending(outcome)
        if access is not None:
            access.report(outcome)
    listeners.report(outcome)
    return outcome


def _prepare(
    plan: RunPlan, control: Control, listeners: Listeners, resources: ExitStack
) -> tuple[Trainer, RemoteAccess]:
    """Acquire everything a run needs; ``resources`` releases it."""
    config, report = plan.config, listeners.report
    check_together(config, plan.tunables)
    require_device(config.device)
    torch.set_num_threads(config.torch_threads)
    # The window trains one run after another; the user may have edited the environment in between.
    forget_changed_code(config.choice)
    _rehearse(config.choice, control, report)
    isolation = Isolation()
    info = isolation.call(partial(check_env, config.choice))
    checked = isolation.call(partial(check_before_training, config, info))
    for message in checked.warnings if checked else ():
        report(Warned(env_steps=0, message=message))
    for message in isolation.call(partial(check_info_columns, config, info)):
        report(Warned(env_steps=0, message=message))
    if plan.point is not None:
        require_same_sizes(plan.point, info)
    require_memory(config, plan.tunables, info.sizes)
    # A branch that keeps no buffer file reads that of its parent, including the slack rows.
    parent = plan.point.saved.header.config if plan.point else config
    kept = config.keep_replay or parent.keep_replay
    ring = _ring_on_disk(plan.point, info) if plan.point and kept else None
    buffer = make_buffer(config.buffer_size, *info.sizes, kept=kept, ring=ring)
    # Before the limit below, which applies to loaded libraries.
    numerics.kernels()
    if config.engine == COMPILED:
        plan = _with_compiled_update(plan, control, report)
        config = plan.config
    # The actor's forward pass is too small to gain from more threads, which would busy-wait.
    resources.enter_context(blas.one_thread())
    envs = resources.enter_context(VectorEnv(config, info))
    agent = make_agent(config, plan.tunables, info.sizes)
    environment = partial(identity.record, config.choice, checked, _recorded(plan))
    record, words, deviations = _numerics(plan, info, isolation.call(environment))
    ignored = numerics.ignored()
    for message in (*plan.notices, *([ignored] if ignored else [])):
        step = plan.point.env_steps if plan.point else 0
        report(Warned(env_steps=step, message=message, no_deviation=True))
    if control.stopping:
        # A new run would have no agent.
        raise StoppedError
    directory = plan.directory(config)
    access = RemoteAccess(directory.path, config, control, report)
    listeners.add(access)
    # Closed after the trainer, before the outcome is reported to others: it answers the remaining
    # requests.
    resources.callback(listeners.remove, access)
    resources.callback(access.close)
    trainer = Trainer(
        directory,
        agent,
        control,
        listeners,
        info,
        buffer,
        envs,
        plan.schedule,
        repeated_steps=plan.repeated_steps,
        numerics=record,
        engine=words,
    )
    resources.callback(trainer.close)
    if plan.point is not None:
        try:
            trainer.resume_from(plan.point, deviations, exact=plan.exact)
        except RequestError:
            for put_back in plan.undo:
                put_back()
            raise
    return trainer, access


def _ring_on_disk(point: ResumePoint, info: EnvInfo) -> int | None:
    """Return the rows of the ring that a run continues; None if its file is not known."""
    run = run_of(point.path.resolve())
    if run is None:
        return None
    sums, capacity = point.saved.tensors.get(SUMS), point.saved.header.config.buffer_size
    return ring_in(run / REPLAY, sums, capacity, RowLayout.of(*info.sizes))


def _rehearse(choice: EnvChoice, control: Control, report: Report) -> None:
    rehearse(
        [choice],
        announce=lambda message: report(Preparing(message=message)),
        stopped=lambda: control.stopping,
    )


def _with_compiled_update(plan: RunPlan, control: Control, report: Report) -> RunPlan:
    """Load the compiled update; compile it first if necessary.

    Returns:
        The plan, with torch's update if the compiled one is not available and torch's is allowed.
    """
    try:
        kernel_cache.provide(
            lambda message: report(Preparing(message=message)),
            lambda: control.stopping,
            plan.config.torch_threads,
        )
    except kernel_cache.KernelError as problem:
        if not plan.may_take_torch:
            raise
        report(
            Warned(
                env_steps=0,
                message=Text(
                    "{reason} Torch computes the updates of this run, which is slower.",
                    reason=problem.message,
                ),
            )
        )
        return replace(plan, config=replace(plan.config, engine=TORCH))
    return plan


def _recorded(plan: RunPlan) -> dict[str, str]:
    """Return the record of the checkpoint that a run continues; empty if there is none."""
    found = plan.point.saved.header.numerics if plan.point is not None else {}
    return fingerprint.with_names_of_today(found, class_on_record(found))


def _numerics(
    plan: RunPlan, info: EnvInfo, environment: Mapping[str, str]
) -> tuple[dict[str, str], Text, list[Text]]:
    """Prepare the engine; return the record, the engine's name and the deviations.

    ``environment``: the record of :func:`td3core.envs.check.identity.record`, which is added.

    Raises:
        RequestError: something will differ, and the run must be exact.
    """
    config, point = plan.config, plan.point
    recorded = _recorded(plan)
    products = engine.take_products(config, recorded.get("products", ""))
    batch_size = plan.tunables.batch_size
    record = fingerprint.record(config, info, products, batch_size, recorded)
    deviations = fingerprint.differences(recorded, record)
    deviations += identity.differences(recorded, environment)
    known = [*(point.deviations if point else ()), *deviations]
    if not config.keep_replay:
        known.append(Text("Its replay buffer was not kept."))
    if plan.exact and known:
        reasons = Text.joined(known)
        raise RequestError("The run cannot be resumed exactly: {reasons}", reasons=reasons)
    return {**record, **environment}, engine.shown(config, products), deviations


def _failure(problem: BaseException, trainer: Trainer | None) -> Failed:
    if isinstance(problem, RunError | RequestError):
        message = problem.message
    else:
        message = Text("{error}: {text}", error=type(problem).__name__, text=reason_of(problem))
    details = traceback_of(problem)
    if trainer is None:
        return Failed(message=message, details=details)
    trainer.rescue(problem)
    diverged = isinstance(problem, DivergedError)
    ending = trainer.ending("failed")
    if isinstance(problem, DivergedError) and ending.last_checkpoint is not None:
        message = problem.with_checkpoint
    return Failed(
        message=message,
        details=details,
        ending=ending,
        # The agent of the end may not have been saved.
        saved_steps=steps_of_last(trainer.directory),
        diverged=diverged,
    )
