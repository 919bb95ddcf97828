"""The compiled update: whether it is there, compiling it, and running an agent through it.

Compiling takes ten seconds and more, so it is done once per machine and version, in a process of
its own (:mod:`td3core.algorithm.compile_kernel`); a marker in the user's cache folder says that it
is done. ``TD3_STUDIO_KERNEL=off`` switches the compiled update off.
"""

import hashlib
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from td3core.arrays import Doubles
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.config import RunConfig, Tunables
from td3core.inference.normaliser import Normaliser
from td3core.system.child_process import python_command
from td3core.system.files import make_folder, write_atomically

if TYPE_CHECKING:
    from td3core.algorithm.train_state import TrainState

_compiling: "list[subprocess.Popen[bytes]]" = []
"""The process that this one has started, so that it starts no second one."""

_KERNEL = Path(__file__).with_name("fused_kernel.py")


def is_ready() -> bool:
    """Return whether the compiled update is in the cache, so that loading it takes no time."""
    return not _is_off() and _marker().is_file()


def _is_off() -> bool:
    return os.environ.get("TD3_STUDIO_KERNEL") == "off"


def load() -> None:
    """Load the compiled update and the BLAS library it calls; takes half a second."""
    # Numba would load it with the first call, after the threads of all libraries were limited.
    importlib.import_module("scipy.linalg.cython_blas")
    importlib.import_module("td3core.algorithm.fused_kernel")


def load_or_compile() -> None:
    """Load the compiled update if it is there; otherwise start compiling it for the next run.

    Compiling happens in a process of its own, at low priority, which ends by itself.
    """
    if is_ready():
        load()
    elif not _is_off() and not _compiling:
        quiet = subprocess.DEVNULL
        command = python_command("from td3core.algorithm.compile_kernel import main\nmain()")
        _compiling.append(
            subprocess.Popen(  # noqa: S603
                command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )
        )


def mark_ready() -> None:
    """Leave the marker that says that the compiled update is in the cache.

    Raises:
        OSError: the user's cache folder cannot be written.
    """
    make_folder(_marker().parent)
    write_atomically(_marker(), b"")


def _marker() -> Path:
    """Return the path that stands for the kernel compiled for this machine and these versions."""
    about = _KERNEL.stat()
    versions = [version(name) for name in ("numba", "llvmlite", "numpy", "scipy")]
    machine = (sys.version, _processor(), str(_KERNEL), about.st_mtime_ns, about.st_size)
    key = hashlib.sha256(repr((versions, machine)).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("td3-studio", False) / "kernels" / f"{key}.ready"


def _processor() -> str:
    """Return name and features of the processor, which compiled code depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        import platform

        return platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


class FusedUpdate:
    """Runs the updates of an agent in one compiled call, on the memory of its tensors."""

    def __init__(
        self,
        config: RunConfig,
        actor: "TrainState",
        critics: "TrainState",
        smoothing: np.random.Generator,
        sums: Doubles,
    ) -> None:
        """``sums``: those of :class:`~td3core.algorithm.update_metrics.UpdateMetrics`."""
        from td3core.algorithm import fused_kernel

        self._kernel = fused_kernel
        self._smoothing, self._sums = smoothing, sums
        self._networks = tuple(
            fused_kernel.Network(
                np.array(state.online.widths, np.int64),
                len(state.names),
                activation == "relu",
                *state.arrays(),
            )
            for state, activation in (
                (actor, config.actor_activation),
                (critics, config.critic_activation),
            )
        )
        self._obs_dim, self._act_dim = actor.online.widths[0], actor.online.widths[-1]
        self._identity = np.zeros(self._obs_dim, np.float32), np.ones(self._obs_dim, np.float32)
        self._work: Any = None

    def __call__(
        self,
        buffer: ReplayBuffer,
        index: NDArray[np.int64],
        normaliser: Normaliser | None,
        tunables: Tunables,
        lr_share: float,
        updates: int,
    ) -> int:
        """Do an update for each row of ``index`` (count, batch), after the first ``updates``.

        Returns:
            How many of them moved the actor.
        """
        count, batch = index.shape
        if self._work is None or len(self._work.y) != batch:
            self._work = self._make_work(batch)
        noise = self._smoothing.standard_normal((count, batch, self._act_dim), np.float32)
        shift, scale = self._identity if normaliser is None else normaliser.affine()
        live = self._kernel.Live(*(getattr(tunables, name) for name in self._kernel.Live._fields))
        live = live._replace(
            actor_lr=lr_share * tunables.actor_lr, critic_lr=lr_share * tunables.critic_lr
        )
        update: Callable[..., int] = self._kernel.update_many
        scaling = shift, scale, normaliser is not None
        rest = live, updates, self._work, self._sums
        return update(buffer.rows, index, noise, *scaling, *self._networks, *rest)

    def _make_work(self, batch: int) -> Any:
        """Return the arrays that an update of this batch size computes in."""
        actor, critics = (network.widths for network in self._networks)
        actor_size, critic_size = (batch * int(widths[1:].sum()) for widths in (actor, critics))
        pair, obs = (batch, int(critics[0])), (batch, self._obs_dim)
        shapes = (pair, pair, obs, batch, batch, batch)
        sizes = (actor_size, actor_size, critic_size, critic_size)
        return self._kernel.Work(*(np.zeros(shape, np.float32) for shape in (*shapes, *sizes)))
