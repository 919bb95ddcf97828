"""Records and checks everything besides settings that determines the last bits of a run.

Every checkpoint holds the record. When a run is resumed, its entries show what has changed. The
probe, a digest of one update and of some actions with networks of the run's sizes, shows that
nothing else has: kernels, compiler and libraries give the same bits as before.
"""

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from td3core.algorithm import engine
from td3core.algorithm.agent import make_agent
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.config import RunConfig, Tunables
from td3core.config.networks import Sizes
from td3core.config.run_config import COMPILED
from td3core.envs.catalogue import find_known
from td3core.envs.info import EnvInfo
from td3core.inference.normaliser import Normaliser
from td3core.system import numerics, processor
from td3core.system.packages import version_of
from td3core.text import Text

_PROBE, _PROBE_BATCH = "probe", "probe_batch"
_ROWS = 1024
_ACTIONS = 8
_MOST_BATCH = 4096
_WIDEST = 2048
"""Maximum layer width of the probe: a second copy of wide networks may exceed memory."""
_LABELS = {
    "class": Text("the numerics class"),
    "engine": Text("the engine"),
    "products": Text("the matrix product"),
    "system": Text("the operating system"),
    "processor": Text("the processor"),
    "threads": Text("the number of threads"),
    "kernels": Text("the BLAS kernel"),
    "gradients": Text("the way torch finds gradients"),
}


def record(
    config: RunConfig, info: EnvInfo, products: str, batch_size: int, recorded: Mapping[str, str]
) -> dict[str, str]:
    """Return the record of everything that determines the last bits of a run here, with its probe.

    Args:
        config: its settings, with the resolved engine and numerics class.
        info: its environment.
        products: the matrix products of the torch engine.
        batch_size: the batch size of the run, for a new probe.
        recorded: the record of the checkpoint to resume from; its probe is repeated.
    """
    about = {
        "class": config.numerics,
        "kernels": numerics.kernels(),
        "engine": config.engine,
        "system": platform.system(),
    }
    packages = ["numpy", *environment_packages(config.env)]
    if config.engine == COMPILED:
        packages += ["scipy", "numba", "llvmlite"]
    else:
        packages += ["torch"]
        # Torch chooses its kernels itself, and splits a product among its threads.
        about |= {
            "products": products,
            "gradients": "autograd",
            "processor": processor.name(),
            "threads": str(config.torch_threads),
        }
    about |= versions_of(packages)
    batch = _batch(recorded.get(_PROBE_BATCH, ""), batch_size)
    about |= {_PROBE_BATCH: str(batch)}
    return about | {_PROBE: probe(config, info.sizes, batch, products)}


def probe(config: RunConfig, sizes: Sizes, batch: int, products: str = "") -> str:
    """Return a digest of an update of all networks and of some actions, from seeded inputs.

    It uses the sizes, activations and engine of the run, and the default live settings.
    """
    config = replace(
        config,
        seed=0,
        actor_hidden=tuple(min(width, _WIDEST) for width in config.actor_hidden),
        critic_hidden=tuple(min(width, _WIDEST) for width in config.critic_hidden),
    )
    engine.take_products(config, products)
    agent = make_agent(config, Tunables(batch_size=batch, policy_delay=1), sizes)
    source = np.random.default_rng(0)
    buffer = ReplayBuffer(_ROWS, *sizes)
    buffer.stored = _ROWS
    buffer.rows[:] = source.uniform(-1.0, 1.0, buffer.rows.shape)
    observations = buffer.layout.columns(buffer.rows[:_ACTIONS]).obs
    normaliser = None
    if config.normalize_observations:
        normaliser = Normaliser(sizes.obs_dim)
        for obs in observations:
            normaliser.observe(obs)
    for draws in Sampler(buffer, source, normaliser).draw(1, agent.tunables):
        agent.update_from(draws)
    policy, digest = agent.policy(normaliser), hashlib.sha256()
    # Single observations, then a batch of them: a run uses both.
    parts = [*agent.state().values(), *map(policy, observations), policy(observations)]
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def differences(then: Mapping[str, str], now: Mapping[str, str]) -> list[Text]:
    """Return reasons why a run recorded as ``then`` is not the same bit for bit ``now``."""
    changed = [
        Text(
            "{what} was {before} and is {now}",
            what=_LABELS.get(name, name),
            before=then[name],
            now=value,
        )
        for name, value in now.items()
        if name not in (_PROBE, _PROBE_BATCH) and then.get(name, value) != value
    ]
    if changed:
        return [Text("The last digits will differ: {changes}.", changes=Text.joined(changed, ", "))]
    if then.get(_PROBE, now[_PROBE]) != now[_PROBE]:
        return [
            Text(
                "The last digits will differ: a trial update gives other bits here than where the"
                " run was made, for a reason that is not on record."
            )
        ]
    return []


def with_names_of_today(recorded: Mapping[str, str], numerics_class: str) -> dict[str, str]:
    """Return the record of a checkpoint in the current format of :func:`record`.

    Records older than numerics classes name products and torch's instruction set for any engine. In
    those without an entry "gradients", the torch engine's gradients were hand-written.
    """
    if not recorded:
        return {}
    if recorded.get("engine") != COMPILED and recorded.get("products") != "numba":
        recorded = {"gradients": "written out", **recorded}
    if "class" in recorded:
        return dict(recorded)
    known = {name: value for name, value in recorded.items() if name != "processor"}
    instructions = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    if recorded.get("processor") != instructions:
        # Another instruction set is kept, so that it is reported as a difference.
        known["processor"] = recorded.get("processor", "")
    return known | {"class": numerics_class}


def _batch(recorded: str, batch_size: int) -> int:
    """Return the batch size of the probe: the recorded one, if it is a number in range."""
    found = int(recorded) if recorded.isascii() and recorded.isdigit() else batch_size
    return min(max(found, 1), _MOST_BATCH)


def environment_packages(env_id: str) -> list[str]:
    """Return the packages that an environment's steps depend on, as far as known."""
    known = find_known(env_id)
    return ["gymnasium", *(known.needs if known else ())]


def versions_of(packages: list[str]) -> dict[str, str]:
    """Return the installed versions of those packages."""
    found = {}
    for package in packages:
        try:
            found[package.lower()] = version_of(package)
        except ModuleNotFoundError:
            # The name of a module from a package with another name.
            continue
    return found
