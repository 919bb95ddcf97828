"""Digests of what must come out the same on every processor of a numerics class.

``python -m tests.support.digests`` prints them for its own class as one object of JSON.
``--meet`` adds this kind of processor to those that tests/data/digests.json names for each class.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from td3core.system import numerics, processor

numerics.pin()

import numpy as np  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from td3core import checkpoint  # noqa: E402
from td3core.algorithm.agent import make_agent  # noqa: E402
from td3core.algorithm.fingerprint import versions_of  # noqa: E402
from td3core.algorithm.fused import kernel_cache  # noqa: E402
from td3core.buffer.replay_buffer import ReplayBuffer  # noqa: E402
from td3core.buffer.sampler import Sampler  # noqa: E402
from td3core.config import make_settings  # noqa: E402
from td3core.config.networks import Sizes  # noqa: E402
from td3core.inference.normaliser import Normaliser  # noqa: E402
from td3core.inference.policy import Policy  # noqa: E402
from td3core.protocol.control import Control  # noqa: E402
from td3core.protocol.events import Ended  # noqa: E402
from td3core.protocol.metrics import METRICS  # noqa: E402
from td3core.protocol.rows import EVALUATION_METRICS  # noqa: E402
from td3core.runs.directory import TABLES  # noqa: E402
from td3core.runs.tables import read_table  # noqa: E402
from td3core.training.launch import resume, train  # noqa: E402

TABLE = Path(__file__).resolve().parents[1] / "data" / "digests.json"
OBS, ACT, ROWS = 17, 6, 2048
LATER = {
    "time_s",
    *(m.name for m in EVALUATION_METRICS if m.name.startswith(("bias", "q_"))),
    # The first six were there when the table was made.
    *(m.name for m in METRICS[6:]),
}
"""Columns that the table of digests does not cover: times, and what was added since."""
RUN: dict[str, Any] = {
    "env": "Pendulum-v1",
    "steps": 900,
    "learning_starts": 200,
    "eval_interval": 300,
    "eval_episodes": 2,
    "background_evaluation": False,
    "checkpoint_interval": 0,
    "actor_hidden": (64, 64),
    "critic_hidden": (64, 64),
    "batch_size": 100,
    "threads": 1,
}
UPDATES: dict[str, dict[str, Any]] = {
    "256 wide": {"actor_hidden": (256, 256), "critic_hidden": (256, 256), "batch_size": 256},
    "64 wide, tanh": {
        "actor_hidden": (64, 64),
        "critic_hidden": (64, 64),
        "batch_size": 100,
        "actor_activation": "tanh",
        "critic_activation": "tanh",
    },
    "DDPG, odd sizes": {
        "actor_hidden": (100, 37),
        "critic_hidden": (300, 7),
        "batch_size": 33,
        "twin_critics": False,
        "policy_delay": 3,
    },
    "normalised, three steps": {
        "actor_hidden": (128,),
        "critic_hidden": (128, 128),
        "batch_size": 128,
        "normalize_observations": True,
        "n_step": 3,
    },
    "normalised critics": {
        "actor_hidden": (64, 64),
        "critic_hidden": (256, 100),
        "batch_size": 100,
        "critic_layer_norm": True,
    },
    "truncated quantiles": {
        "algorithm": "tqc",
        "actor_hidden": (64, 64),
        "critic_hidden": (100, 64),
        "batch_size": 100,
        "critic_layer_norm": True,
    },
}


def digest(parts: Iterable[Any]) -> str:
    """Return the start of the SHA-256 of some arrays."""
    total = hashlib.sha256()
    for part in parts:
        total.update(np.ascontiguousarray(part).tobytes())
    return total.hexdigest()[:16]


def updates(values: dict[str, Any]) -> str:
    """Digest all tensors of an agent after some updates, and its actions."""
    settings = make_settings({"env": "any", "engine": "compiled", **values})
    agent = make_agent(*settings, Sizes(OBS, ACT))
    source, buffer = np.random.default_rng(1), ReplayBuffer(ROWS, OBS, ACT)
    buffer.stored = ROWS
    buffer.rows[:] = source.uniform(-1.0, 1.0, buffer.rows.shape)
    observations = buffer.layout.columns(buffer.rows[:32]).obs
    normaliser = seen(observations) if values.get("normalize_observations") else None
    sampler = Sampler(buffer, source, normaliser)
    for _ in range(4):
        for draws in sampler.draw(6, agent.tunables):
            agent.update_from(draws)
    policy = agent.policy(normaliser)
    state = agent.state()
    tensors = [state[name] for name in state if not _is_later(name)]
    return digest([*tensors, *map(policy, observations), policy(observations)])


def _is_later(name: str) -> bool:
    """Return whether a tensor is the sum of a metric added since then."""
    return name.removeprefix("tally.") in LATER


def seen(observations: Any) -> Normaliser:
    """Return statistics of these observations."""
    found = Normaliser(OBS)
    for obs in observations:
        found.observe(obs)
    return found


def policy() -> str:
    """Digest the actions of networks of several sizes, with both activations."""
    source, parts = np.random.default_rng(2), []
    observations = source.normal(size=(64, OBS)).astype(np.float32)
    for hidden in ((64, 64), (256, 256), (400, 300)):
        sizes = zip((OBS, *hidden), (*hidden, ACT), strict=True)
        layers = [(source.normal(size=(m, n)), source.normal(size=m)) for n, m in sizes]
        weights = [((w / 8).astype(np.float32), b.astype(np.float32)) for w, b in layers]
        for activation in ("relu", "tanh"):
            acts = Policy(weights, activation, seen(observations))
            parts += [*map(acts, observations), acts(observations)]
    return digest(parts)


def normalisation() -> str:
    """Digest statistics of observations and the results of normalising them."""
    source = np.random.default_rng(3)
    observations = source.normal(3.0, 10.0, size=(500, OBS)).astype(np.float32)
    found = seen(observations)
    return digest([*found.state().values(), found(observations)])


def whole_run(*, stop_at: int | None = None) -> str:
    """Digest last checkpoint and tables of a run with evaluations, perhaps stopped and resumed."""
    with tempfile.TemporaryDirectory() as folder:
        control = Control() if stop_at is None else Control.stopping_at(stop_at)
        ended = train(*make_settings(RUN), control, lambda _: None, Path(folder))
        if stop_at is not None:
            assert isinstance(ended, Ended), ended
            ended = resume(ended.run, Control(), lambda _: None)
        assert isinstance(ended, Ended), ended
        assert ended.last_checkpoint is not None
        tensors = checkpoint.load(ended.last_checkpoint).tensors
        # Not the check sums of the buffer's file: they go by how it is written.
        names = [name for name in sorted(tensors) if not name.startswith("replay.")]
        parts = [tensors[name] for name in names if not _is_later(name)]
        for name in TABLES:
            rows = read_table(ended.run / f"{name}.csv")
            text = [{key: row[key] for key in row if key not in LATER} for row in rows]
            parts.append(np.frombuffer(json.dumps(text).encode(), np.uint8))
        return digest(parts)


CASES: dict[str, Callable[[], str]] = {
    **{f"updates: {name}": lambda v=values: updates(v) for name, values in UPDATES.items()},
    "policy": policy,
    "normalisation": normalisation,
    "run with evaluations": whole_run,
    "the same, stopped and resumed": lambda: whole_run(stop_at=450),
}


def found() -> dict[str, Any]:
    """Return the digests of this process, and all that they depend on."""
    kernel_cache.provide()
    # As in a run: Haswell kernels give other bits on more threads.
    with threadpool_limits(1, user_api="blas"):
        digests = {name: case() for name, case in CASES.items()}
    return {
        "class": numerics.current(),
        "processor": processor.kind(),
        "versions": versions_of(["numpy", "scipy", "numba", "llvmlite", "gymnasium"]),
        "digests": digests,
    }


def meet(here: dict[str, Any]) -> None:
    """Add this processor to those met, and the digests of a class that has none yet."""
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}
    entry = table.setdefault(
        here["class"], {"processors": [], "versions": here["versions"], "digests": here["digests"]}
    )
    if {name: here["digests"][name] for name in entry["digests"]} != entry["digests"]:
        raise SystemExit(f"The digests of {here['class']} differ here: {here['digests']}")
    # Cases may have been added since this class was met.
    entry["digests"] = here["digests"]
    entry["processors"] = sorted({*entry["processors"], here["processor"]})
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    result = found()
    if "--meet" in sys.argv[1:]:
        meet(result)
    print(json.dumps(result))
