"""Starts or continues a sweep, from its file or a bundled one."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from td3core.config import RunConfig, Tunables
from td3core.envs import trust
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env
from td3core.errors import RequestError
from td3core.experiments.groups.allocation import allocate, bytes_of_run
from td3core.experiments.sweeps.executor import Executor, LocalExecutor
from td3core.experiments.sweeps.file import parse, read
from td3core.experiments.sweeps.folder import SweepFolder, SweepState
from td3core.experiments.sweeps.runner import SweepRunner
from td3core.experiments.sweeps.spec import SweepSpec, with_module
from td3core.experiments.sweeps.study import SweepStudy
from td3core.protocol.control import Control
from td3core.runs.lock import RunLock
from td3core.system import numerics
from td3core.system.capacity import free_cores
from td3core.text import Text

SUFFIX = ".toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """A sweep to start or to continue."""

    text: str
    """Contents of the sweep's file."""
    spec: SweepSpec
    runs_dir: Path
    jobs: int | None = None
    """Runs at once; None for the file's number."""
    ray: str | None = None
    """``auto``, ``local`` or ``ray://host:port``; None trains in processes of this machine."""


def bundled_sweeps() -> list[str]:
    """Return the names of the bundled examples."""
    folder = files("resources") / "sweeps"
    return sorted(
        each.name.removesuffix(SUFFIX) for each in folder.iterdir() if each.name.endswith(SUFFIX)
    )


def read_sweep_file(target: str, env_module: str | None = None) -> tuple[str, SweepSpec]:
    """Read a sweep's file, or a bundled one by its name; return its text and its spec.

    Raises:
        RequestError: there is no such file, or it is refused.
    """
    path = Path(target)
    if not path.is_file() and target in bundled_sweeps():
        text = (files("resources") / "sweeps" / f"{target}{SUFFIX}").read_text("utf-8")
        spec = parse(text, path.stem)
    elif os.path.lexists(path):
        text, spec = read(path, path.stem)
    else:
        known = ", ".join(bundled_sweeps())
        raise RequestError(
            "There is no sweep file {path}. Bundled sweeps: {known}.", path=str(path), known=known
        )
    return text, with_module(spec, env_module) if env_module else spec


def conduct(
    request: SweepRequest,
    control: Control,
    report: Callable[[SweepState], None],
    announce: Callable[[Text], None] = lambda _: None,
) -> tuple[SweepState, bool]:
    """Start or continue a sweep; return its state at the end, and whether it failed as a whole.

    ``announce`` receives notices for the user before it begins.

    Raises:
        RequestError: it is refused; the sweep is unchanged.
    """
    spec, folder = request.spec, SweepFolder(request.runs_dir, request.spec.name)
    # With arguments: the environment may need them.
    info = check_env(spec.env_choices()[0])
    slots = request.jobs if request.jobs is not None else spec.jobs
    with ExitStack() as resources:
        # Before the folder is made: the connection may be refused.
        connect = _ray_connection(request.ray, resources, announce) if request.ray else None
        folder.make(spec)
        resources.enter_context(RunLock(folder.path))
        folder.begin(request.text, spec)
        # Drop a stop request that came too late for the previous process. Later ones are for this
        # one.
        folder.take_stop()
        executor: Executor
        if connect is None:
            name = _class_of_all([(numerics.current(), *numerics.available())], folder, announce)
            slots = slots or local_slots(spec, info)
            executor = LocalExecutor(slots, folder.log_dir, name)
        else:
            executor = connect(slots, spec, folder, announce)
        study = resources.enter_context(SweepStudy(folder.study_file, spec))
        runner = SweepRunner(spec, folder, study, executor, control, report)
        state = runner.run()
    return state, runner.failed


def _class_of_all(
    machines: Sequence[tuple[str, ...]], folder: SweepFolder, announce: Callable[[Text], None]
) -> str:
    """Return the numerics class of all runs of a sweep: trials must be comparable."""
    wanted = str(folder.spec().settings.get("numerics", numerics.AUTO))
    name, sentence = numerics.shared_class(wanted, folder.class_of_runs(), machines)
    if sentence:
        announce(sentence)
    return name


def local_slots(spec: SweepSpec, info: EnvInfo) -> int:
    """Return how many runs of a sweep the free cores and memory of this machine allow at once."""
    chosen = {name: spec.values_of(name)[0] for name in spec.space}

    def with_most(name: str, amount: Callable[[RunConfig, Tunables], int]) -> int:
        """Choose the value of which a run takes most; return how much."""

        def taken(value: Any) -> int:
            return amount(*spec.run_settings(chosen | {name: value}, 0))

        chosen[name] = max(spec.values_of(name), key=taken)
        return taken(chosen[name])

    threads = with_most("threads", lambda config, _: config.torch_threads)
    needed = bytes_of_run(*spec.run_settings(chosen, 0), info)
    # One setting after the other: there may be too many combinations. The algorithm comes first,
    # for it decides which of the others count.
    for name in sorted(spec.space, key=lambda name: name != "algorithm"):
        needed = with_most(name, lambda config, rest: bytes_of_run(config, rest, info))
    return allocate(max(free_cores() // threads, 1), needed, threads=threads).jobs


def _ray_connection(
    address: str, resources: ExitStack, announce: Callable[[Text], None]
) -> Callable[[int, SweepSpec, SweepFolder, Callable[[Text], None]], Executor]:
    """Connect to Ray; return a function that makes an executor for a number of runs at once."""
    if find_spec("ray") is None:
        raise RequestError(
            "Ray is not installed; install it with the extra: {extra}.", extra="td3-studio[ray]"
        )
    from td3core.experiments.sweeps.ray_executor import RayExecutor, classes_of_nodes, connect

    if address == "local":
        # That may take half a minute.
        announce(Text("Ray is starting on this machine."))
    resources.enter_context(connect(address))

    def make(
        slots: int, spec: SweepSpec, folder: SweepFolder, announce: Callable[[Text], None]
    ) -> Executor:
        name = _class_of_all(classes_of_nodes(), folder, announce)
        return RayExecutor(slots, trust.names_allowed(spec.env_choices()), name)

    return make
