"""What the returns of an agent's episodes depend on: its class of kernels, and a proof of it."""

import hashlib
from typing import Any

import numpy as np

from td3core.algorithm.fingerprint import environment_packages, versions_of
from td3core.checkpoint import Checkpoint
from td3core.system import numerics

_OBSERVATIONS = 64


def played_with(agent: Checkpoint) -> dict[str, Any]:
    """Return class, versions, and a digest of some actions of an agent here."""
    source, act = np.random.default_rng(0), agent.policy()
    size = (_OBSERVATIONS, agent.header.env.obs_dim)
    actions = [act(obs) for obs in source.normal(size=size).astype(np.float32)]
    return {
        "class": numerics.current(),
        "versions": versions_of(["numpy", *environment_packages(agent.header.config.env)]),
        "probe": hashlib.sha256(b"".join(each.tobytes() for each in actions)).hexdigest(),
    }
