"""Examines the installation: versions, devices, renderers, and missing parts."""

import os
import subprocess
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from td3core.config import default_threads
from td3core.envs import trust_store
from td3core.envs.catalogue import KNOWN, KnownEnv
from td3core.errors import RequestError
from td3core.runs.new_run import default_runs_dir, versions
from td3core.system import blas, numerics, processor
from td3core.system.capacity import free_memory, usable_cores, usable_memory
from td3core.system.child_process import python_command
from td3core.text import Text, tr

_SIZE, _REPEATS = 256, 60
RENDER_ONCE = """
import sys
from td3core.envs.make import make_env
env = make_env(sys.argv[1], render=True)
env.reset(seed=0)
print(env.render().shape)
"""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One line of the report; ``ok`` is None for information only."""

    what: str
    value: str
    ok: bool | None = None


def examine() -> Iterator[Diagnosis]:
    """Yield findings about versions, devices, environments and renderers, one by one."""
    for package, found in versions().items():
        yield Diagnosis(package, found)
    yield _package(
        "PySide6-Essentials", Text("missing: needed for the window; pip install td3-studio")
    )
    yield _package("av", Text("missing: needed for videos; pip install av"))
    cores = Text.counted(
        "{processor}: {n} core, {threads} for training",
        "{processor}: {n} cores, {threads} for training",
        n=usable_cores(),
        processor=processor.name(),
        threads=default_threads(),
    )
    yield Diagnosis(tr("processor"), str(cores))
    yield from examine_numerics()
    whole, free = usable_memory() / 2**30, free_memory() / 2**30
    memory = tr("{whole:.1f} GiB, {free:.1f} GiB free", whole=whole, free=free)
    yield Diagnosis(tr("memory"), memory)
    yield _kernel()
    yield _accelerator()
    yield Diagnosis(tr("runs folder"), str(default_runs_dir()), _writable())
    for module, folder in sorted(trust_store.remembered()):
        allowed = tr("{module} in {folder}", module=module, folder=folder)
        yield Diagnosis(tr("allowed code"), allowed)
    for group in dict.fromkeys(known.group for known in KNOWN):
        members = [known for known in KNOWN if known.group == group]
        first = members[0]
        if not first.installed:
            yield _not_installed(first)
            continue
        count = Text.counted("{n} environment", "{n} environments", n=len(members))
        yield Diagnosis(group, str(count), True)
        yield renders(first.env_id)


def forget_code(module: str) -> Text:
    """Withdraw consent to a module; return a sentence about that.

    Raises:
        RequestError: the module was not allowed, or the file of consents cannot be written.
    """
    if not trust_store.forget(module):
        raise RequestError("{module} was not allowed to run, so nothing changed.", module=module)
    return Text("You will be asked again before {module} runs.", module=module)


def examine_numerics() -> Iterator[Diagnosis]:
    """Yield the numerics class, variables that slow libraries, and times of matrix products."""
    here, others = numerics.current(), [n for n in numerics.available() if n != numerics.current()]
    values = {"here": here, "kernels": numerics.kernels()}
    classes = Text("{here} ({kernels} kernels)", **values)
    if others:
        classes = Text(
            "{here} ({kernels} kernels); {others} can be chosen",
            others=", ".join(others),
            **values,
        )
    yield Diagnosis(tr("numerics class"), str(classes), True)
    ignored = numerics.ignored()
    if ignored is not None:
        yield Diagnosis(tr("numerics class"), str(ignored), False)
    for name, value in numerics.slowing_variables().items():
        if name == "OPENBLAS_CORETYPE" and numerics.overridden():
            said = tr("{value} in the environment is not followed", value=value)
            yield Diagnosis(name, said, None)
        else:
            said = tr("{value} in the environment may slow the libraries", value=value)
            yield Diagnosis(name, said, False)
    for library, microseconds in products():
        size = f"{_SIZE} × {_SIZE} × {_SIZE}"
        took = tr("{time:.0f} µs ({size}, one thread)", time=microseconds, size=size)
        yield Diagnosis(tr("a product by {library}", library=library), took)


def products() -> Iterator[tuple[str, float]]:
    """Yield each library with the microseconds of its float32 matrix product."""
    import numpy as np
    import torch

    a = np.random.default_rng(0).standard_normal((_SIZE, _SIZE), np.float32)
    tensor, threads = torch.from_numpy(a), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with blas.one_thread():
            yield "NumPy", _microseconds(lambda: a @ a)
            yield "torch", _microseconds(lambda: torch.mm(tensor, tensor))
    finally:
        torch.set_num_threads(threads)


def _microseconds(product: Callable[[], object]) -> float:
    """Return the fastest of many repetitions: other programs slow some of them, not all."""
    return 1e6 * min(timeit.repeat(product, number=1, repeat=_REPEATS))


def _kernel() -> Diagnosis:
    from td3core.algorithm.fused import kernel_cache

    ok, value = kernel_cache.examine()
    return Diagnosis(tr("compiled update"), str(value), ok)


def _package(name: str, missing: Text) -> Diagnosis:
    try:
        return Diagnosis(name, version(name), True)
    except PackageNotFoundError:
        return Diagnosis(name, str(missing), False)


def _not_installed(known: KnownEnv) -> Diagnosis:
    """Only Gymnasium's own simulators are installed with the studio; others are optional."""
    command = f"pip install '{known.package}'"
    if known.registered_by:
        optional = tr("not installed (optional); {command}", command=command)
        return Diagnosis(known.group, optional)
    return Diagnosis(known.group, tr("missing; {command}", command=command), False)


def _accelerator() -> Diagnosis:
    import torch

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
        found = tr("{name}; use it with --set device=cuda", name=name)
        return Diagnosis(tr("accelerator"), found)
    return Diagnosis(tr("accelerator"), tr("none found; training uses the CPU"))


def _writable() -> bool:
    folder = default_runs_dir()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def renders(env_id: str) -> Diagnosis:
    """Render one image in a new process: a broken graphics driver may crash the process."""
    what = tr("renders {env_id}", env_id=env_id)
    try:
        done = subprocess.run(  # noqa: S603
            python_command(RENDER_ONCE, [env_id]),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Diagnosis(what, tr("no image within 60 s"), False)
    if done.returncode == 0:
        return Diagnosis(what, tr("yes"), True)
    status = tr("exit status {status}", status=done.returncode)
    reason = (done.stderr.strip().splitlines() or [status])[-1]
    # Without the name of the exception.
    reason = reason.partition("Error: ")[2] or reason
    return Diagnosis(what, tr("no: {reason}", reason=reason), False)
