"""An agent of another program, as an importer returns it, and functions that importers share."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Doubles, Floats
from td3core.config.env_choice import EnvChoice
from td3core.importers.damage import UnexpectedError
from td3core.text import NO_TEXT, Text

Layers = tuple[tuple[Floats, Floats], ...]
"""Weight (out, in) and bias (out,) of each layer, from input to output."""

NO_OPTIMISERS = Text("The file holds no optimiser state: its moments begin at zero.")
OTHER_OPTIMISER = Text(
    "It was trained with another optimiser. Here Adam goes on: its moments begin at zero, and its"
    " learning rates are the defaults."
)
OTHER_CONSTANTS = Text(
    "It was trained with other constants of Adam (betas, eps, weight decay or AMSGrad). Here Adam"
    " goes on with those of its paper: its moments begin at zero."
)
NO_TARGETS = Text("The file holds no target networks: they begin as copies.")
OWN_SETTINGS = Text("The file does not say how it was trained: settings are the defaults.")

_LARGEST_LAYER = 8192
# Parts of tensor names that no plain network has, and their meanings.
_KNOWN_PARTS = (
    ("running_", Text("batch normalisation")),
    ("num_batches_tracked", Text("batch normalisation")),
    ("features_extractor", Text("a network for pictures or other features")),
    ("quantile_critics", Text("critics of quantiles")),
    ("q_net", Text("values of discrete actions")),
    ("mlp_extractor", Text("a policy of PPO or A2C")),
    ("action_net", Text("a policy of PPO or A2C")),
    ("log_std", Text("state-dependent exploration (gSDE)")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """The state of an Adam optimiser: moments of each weight and bias, network by network."""

    step: float
    exp_avg: tuple[Floats, ...]
    exp_avg_sq: tuple[Floats, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Mean and variance of observations, (obs_dim,) each, and their count."""

    count: float
    mean: Doubles
    variance: Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignAgent:
    """An agent as described by a file. Actions are in [-1, 1], as the critics see them."""

    kind: str
    """Program and algorithm, such as ``stable-baselines3 TD3``."""
    actor: Layers
    activation: str = "relu"
    critics: tuple[Layers, ...] = ()
    """Empty for an agent that can only be watched."""
    target_actor: Layers | None = None
    target_critics: tuple[Layers, ...] | None = None
    actor_moments: Moments | None = None
    critic_moments: Moments | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of a run by name, if the file has them."""
    env_steps: int = 0
    updates: int = 0
    episodes: int = 0
    low: Floats | None = None
    high: Floats | None = None
    """The bounds of its actions (act_dim,), if the file has them."""
    scaled_actions: bool = False
    """True if actor and critics scale actions by the environment's bound, which is the same for
    all actions and in both directions; the file does not contain it."""
    normalisation: Statistics | None = None
    statistics_apart: bool = False
    """True if its program keeps the statistics of observations in a separate file."""
    env: EnvChoice | None = None
    """Its environment, if the file states it."""
    likely_env: str = ""
    """Environment suggested by file names."""
    notes: tuple[Text, ...] = ()
    """What the file lacks, or what cannot be carried over; for the journal."""
    sources: tuple[tuple[str, str], ...] = ()
    """Name and SHA-256 of each file it was read from."""

    @property
    def obs_dim(self) -> int:
        """Size of an observation."""
        return int(self.actor[0][0].shape[1])

    @property
    def act_dim(self) -> int:
        """Size of an action."""
        return int(self.actor[-1][0].shape[0])

    @property
    def sha256(self) -> str:
        """The SHA-256 of its file; for several files, that of their ``sha256sum`` listing."""
        if len(self.sources) == 1:
            return self.sources[0][1]
        listed = "".join(f"{digest}  {name}\n" for name, digest in self.sources)
        return hashlib.sha256(listed.encode()).hexdigest()


def source(name: str, data: bytes) -> tuple[str, str]:
    """Return the record of a file that was read."""
    return name, hashlib.sha256(data).hexdigest()


def take_layers(
    tensors: dict[str, NDArray[Any]],
    names: Sequence[str],
    *,
    inputs: int | None = None,
    outputs: int | None = None,
) -> Layers:
    """Return the layers of a network, and remove them from ``tensors``.

    Args:
        tensors: All remaining tensors, by name.
        names: Names of the layers, without ``.weight`` and ``.bias``.
        inputs: Size of the input, if known.
        outputs: Size of the output, if known.

    Raises:
        UnexpectedError: a tensor is missing, or has an unexpected shape or type; with its key.
    """
    layers = []
    for name in names:
        weight = _taken(tensors, f"{name}.weight", 2)
        bias = _taken(tensors, f"{name}.bias", 1)
        expected = weight.shape[1] if inputs is None else inputs
        if weight.shape != (bias.size, expected) or not 0 < bias.size <= _LARGEST_LAYER:
            raise UnexpectedError(
                "{key} has the shape {shape}", key=f"{name}.weight", shape=weight.shape
            )
        inputs = bias.size
        layers.append((weight, bias))
    if not layers or (outputs is not None and inputs != outputs):
        last = f"{names[-1]}.weight" if layers else "a network"
        raise UnexpectedError("{key} has an unexpected number of outputs", key=last)
    return tuple(layers)


def _taken(tensors: dict[str, NDArray[Any]], key: str, dimensions: int) -> Floats:
    if key not in tensors:
        raise UnexpectedError("{key} is missing", key=key)
    found = tensors.pop(key)
    if found.ndim != dimensions or not found.size:
        raise UnexpectedError("{key} has the shape {shape}", key=key, shape=found.shape)
    if found.dtype != np.float32:
        raise UnexpectedError("{key} is {dtype}, not float32", key=key, dtype=str(found.dtype))
    if not np.isfinite(found).all():
        raise UnexpectedError("{key} holds values that are not numbers", key=key)
    return found


def numbered(tensors: Mapping[str, Any], prefix: str, *, begin: int, step: int) -> list[str]:
    """Return the names of numbered layers, ``prefix`` followed by a number."""
    names, at = [], begin
    while f"{prefix}{at}.weight" in tensors:
        names.append(f"{prefix}{at}")
        at += step
    return names


def env_in_name(path: Path) -> str:
    """Return the environment that the folder's name begins with, as in CleanRL; empty if none."""
    name, separator, _ = path.absolute().parent.name.partition("__")
    return name if separator else ""


def require_no_more(tensors: Iterable[str]) -> None:
    """Refuse remaining tensors, which belong to no layer.

    Raises:
        UnexpectedError: with the first key, and its meaning if known.
    """
    for key in sorted(tensors):
        for part, meaning in _KNOWN_PARTS:
            if part in key:
                raise UnexpectedError(
                    "there is {key}, which is part of {meaning}", key=key[:80], meaning=meaning
                )
        raise UnexpectedError("there is {key}, which no plain network has", key=key[:80])


def moments_of(optimiser: Any, networks: Sequence[Layers]) -> tuple[Moments | Text, float | None]:
    """Return the moments in the state dict of torch's Adam, and its learning rate if it has one.

    ``networks`` are those it trains, in the order of its parameters. In place of the moments, a
    note says why there are none: they are missing, or are not those of Adam as in its paper.

    Raises:
        UnexpectedError: the shape of a moment differs from that of its weight.
    """
    match optimiser:
        case {"state": dict(state), "param_groups": [dict(options)]}:
            pass
        case _:
            raise UnexpectedError("there is no state of an optimiser")
    different, rate = _difference(options), options.get("lr")
    adam = different != OTHER_OPTIMISER
    lr = float(rate) if adam and isinstance(rate, int | float) else None
    tensors = [each for layers in networks for pair in layers for each in pair]
    if different:
        return different, lr
    if not state:
        return NO_OPTIMISERS, lr
    if list(state) != list(range(len(tensors))):
        raise UnexpectedError("there is not one state for each weight and bias")
    averages, squares = list[Floats](), list[Floats]()
    steps = set[float]()
    for tensor, found in zip(tensors, state.values(), strict=True):
        if not isinstance(found, dict) or not {"step", "exp_avg", "exp_avg_sq"} <= found.keys():
            return NO_OPTIMISERS, lr
        for kind, into in (("exp_avg", averages), ("exp_avg_sq", squares)):
            into.append(_moment(found[kind], kind, tensor))
        steps.add(float(found["step"]))
    if len(steps) > 1:
        return NO_OPTIMISERS, lr
    step = steps.pop()
    if not 0 <= step <= 1e12 or any((each < 0).any() for each in squares):
        raise UnexpectedError("a moment or the number of steps is negative")
    return Moments(step=step, exp_avg=tuple(averages), exp_avg_sq=tuple(squares)), lr


def _difference(options: Mapping[str, Any]) -> Text:
    """Return how an optimiser of torch differs from Adam as in its paper; empty if it does not."""
    # Only Adam and AdamW have this option; NAdam and RAdam have the same moments.
    if "amsgrad" not in options:
        return OTHER_OPTIMISER
    usual = options.get("betas") in ((0.9, 0.999), [0.9, 0.999]) and options.get("eps") == 1e-8
    if not usual or options.get("weight_decay") or options["amsgrad"]:
        return OTHER_CONSTANTS
    return NO_TEXT


def reasons_among(moments: Iterable[Moments | Text]) -> list[Text]:
    """Return each note in the results of :func:`moments_of` once."""
    return list(dict.fromkeys(each for each in moments if isinstance(each, Text)))


def _moment(value: Any, kind: str, like: Floats) -> Floats:
    fits = isinstance(value, np.ndarray) and value.shape == like.shape
    if not fits or value.dtype != np.float32 or not np.isfinite(value).all():
        raise UnexpectedError("an {kind} does not fit its weight", kind=kind)
    found: Floats = value
    return found


def scaled_input(layers: Layers, begin: int, scale: Floats, centre: Floats) -> Layers:
    """Return a critic for actions in [-1, 1], made from one for actions in an environment's bounds.

    W (scale · a + centre) = (W · scale) a + W centre, for the columns from ``begin`` on.
    """
    (weight, bias), *rest = layers
    wide = weight.astype(np.float64)
    moved = bias + wide[:, begin:] @ centre.astype(np.float64)
    wide[:, begin:] *= scale
    return ((wide.astype(np.float32), moved.astype(np.float32)), *rest)
