"""An actor with everything needed to act outside the studio."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

from td3core import __version__
from td3core.arrays import Doubles, Floats
from td3core.checkpoint import Checkpoint, Origin, load
from td3core.checkpoint.agent import agent_of, spec_of
from td3core.config.networks import ACTOR
from td3core.envs.agent_view import AgentView
from td3core.envs.info_means import rate_of
from td3core.errors import RequestError
from td3core.exporters.film.frames import environment_of, naming_environment
from td3core.inference.normaliser import OBS_CLIP, Normaliser
from td3core.playing.numbers import EpisodeLog, in_bounds
from td3core.playing.playback import Playback
from td3core.text import Text

MOST_OBSERVATIONS = 1000
TOLERANCE = 1e-5
"""The largest error of an exported actor, in units of half the range of an action."""


class Normalisation(NamedTuple):
    """x̂ = clip((x - shift) · scale, ±clip); shift and scale are (obs_dim,)."""

    shift: Floats
    scale: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedActor:
    """The layers of an actor, the operations before and after them, and how to call it."""

    source: Checkpoint
    layers: tuple[tuple[Floats, Floats], ...]
    """Weight (out, in) and bias (out,) of each layer, from input to output."""
    activation: str
    """Activation of the hidden layers, ``relu`` or ``tanh``; the output layer ends in tanh."""
    normalisation: Normalisation | None
    low: Floats
    """The environment's bounds, (act_dim,) like ``high``."""
    high: Floats
    observation_space: Box
    action_space: Box
    control_rate_hz: float | None
    """Decisions per second, counting repeated actions once; None if the environment has no rate."""
    replayed: Floats
    """Observations (n, obs_dim) of a noise-free episode, or of its first steps."""

    @property
    def half(self) -> Floats:
        """Half the range of each action, (act_dim,)."""
        return ((self.high.astype(np.float64) - self.low) / 2).astype(np.float32)

    @property
    def centre(self) -> Floats:
        """The middle of the range of each action, (act_dim,)."""
        return ((self.high.astype(np.float64) + self.low) / 2).astype(np.float32)

    @property
    def env_name(self) -> str:
        """The environment's id, and its arguments if it has any."""
        header = self.source.header
        # On one line, for comments of generated code.
        return " ".join(f"{header.env.env_id} {header.choice.args}".split())

    @property
    def imported(self) -> Origin | None:
        """Where it was imported from; None if it has been trained by this program since."""
        header = self.source.header
        # Training by this program always records ``numerics``.
        return None if header.numerics else header.origin

    def facts(self) -> dict[str, Any]:
        """Return the facts that users of the file must know, as plain JSON values."""
        header, origin = self.source.header, self.source.header.origin
        found: dict[str, Any] = {
            "env_id": header.env.env_id,
            "env_args": header.env.choice.kwargs,
            "obs_dim": header.env.obs_dim,
            "act_dim": header.env.act_dim,
            "action_low": [float(x) for x in self.low],
            "action_high": [float(x) for x in self.high],
            "whole_actions": self.action_space.dtype.kind in "iub",
            "action_repeat": header.choice.action_repeat,
            "control_rate_hz": self.control_rate_hz,
            "normalised_observations": self.normalisation is not None,
            "env_steps": header.counters.env_steps,
            "producer": f"td3-studio {__version__}",
        }
        if origin is not None:
            source = {"kind": origin.kind, "file": origin.file, "sha256": origin.sha256}
            found["imported_from"] = source
        if self.imported and not header.counters.env_steps:
            # Other programs do not always record the number of steps.
            del found["env_steps"]
        return found

    def usage(self) -> list[str]:
        """Return lines on how to call the actor, for a comment or a README."""
        facts = self.facts()
        rate, repeat = self.control_rate_hz, facts["action_repeat"]
        lines = [
            f"Environment: {self.env_name}",
            self._history(),
            f"Observation: {facts['obs_dim']} numbers, as the environment returns them"
            + _flattened(self.observation_space)
            + ("; they are normalised inside" if self.normalisation else ""),
            f"Action: {facts['act_dim']} numbers{_flattened(self.action_space)} within low"
            f" {facts['action_low']} and high {facts['action_high']}",
            f"Action repeat: {repeat}"
            + (f" (take each action {repeat} times before the next call)" if repeat > 1 else ""),
            "Control rate: "
            + ("not stated by the environment" if rate is None else f"{rate:g} calls per second"),
        ]
        if facts["whole_actions"]:
            lines.append("The environment takes whole numbers: round each action")
        return lines

    def _history(self) -> str:
        """Return on one line how it was trained, and by which program."""
        header, producer = self.source.header, self.facts()["producer"]
        origin, steps = header.origin, header.counters.env_steps
        if origin is None:
            return f"Trained for {steps} environment steps by {producer}"
        source = " ".join(f"{origin.kind}, {origin.file}".split())
        if self.imported is None:
            return f"Trained on to {steps} environment steps by {producer}, from {source}"
        after = f", after {steps} environment steps" if steps else ""
        return f"Imported by {producer} from {source}{after}"

    def exact(self, obs: Floats) -> Doubles:
        """Return actions (n, act_dim) in the environment's bounds, computed in float64."""
        x = obs.astype(np.float64)
        if self.normalisation is not None:
            shift, scale = self.normalisation
            x = np.clip((x - shift) * scale, -OBS_CLIP, OBS_CLIP)
        *hidden, (last_weight, last_bias) = self.layers
        for weight, bias in hidden:
            x = x @ weight.T.astype(np.float64) + bias
            x = np.maximum(x, 0.0) if self.activation == "relu" else np.tanh(x)
        return in_bounds(
            np.tanh(x @ last_weight.T.astype(np.float64) + last_bias),
            spec_of(self.source.header, None),
        )

    def require_parity(self, act: Callable[[Floats], Floats]) -> Text:
        """Compare a file's actions with those of :meth:`exact` over an episode; return the result.

        The reference is float64: two float32 passes may differ by twice the error of either.

        Args:
            act: Returns actions (n, act_dim) in the environment's bounds for (n, obs_dim).

        Raises:
            RequestError: the file deviates by more than :data:`TOLERANCE` of half the range.
        """
        half = (self.high.astype(np.float64) - self.low) / 2
        errors = np.abs(act(self.replayed) - self.exact(self.replayed)) / half
        largest = float(errors.max(initial=0.0))
        if not largest <= TOLERANCE:
            raise RequestError(
                "The exported actor deviates by {error:.1e} of half the range of its actions;"
                " more than {most:.0e} is not exported.",
                error=largest,
                most=TOLERANCE,
            )
        return Text(
            "largest error {error:.1e} of half the action range over {n} observations",
            error=largest,
            n=len(self.replayed),
        )


def deployed_actor(checkpoint: Path) -> DeployedActor:
    """Read an actor, and play up to 1,000 steps of an episode with it.

    Raises:
        RequestError: the file cannot be read, or its environment cannot be made or has changed.
        RunError: the environment raised an exception.
    """
    source = load(checkpoint)
    header = source.header
    with naming_environment(environment_of(source, checkpoint)):
        log = EpisodeLog(header.env.obs_dim, most_bytes=None)
        with closing(Playback(agent_of(source), 0, 0, log=log)) as playback:
            while not playback.step.over and playback.step.number < MOST_OBSERVATIONS:
                playback.advance()
            rate = _control_rate(playback.env, header.choice.action_repeat)
            seen, acts = playback.env.observation_space, playback.env.action_space
    assert isinstance(seen, Box)
    assert isinstance(acts, Box)
    steps = log.after(0, 0, None)
    assert steps is not None
    group = header.networks[ACTOR]
    (name,) = group.names
    normalisation = None
    if header.config.normalize_observations:
        statistics = Normaliser.from_tensors(source.tensors, header.env.obs_dim)
        normalisation = Normalisation(*statistics.affine())
    return DeployedActor(
        source=source,
        layers=tuple((source.tensors[w], source.tensors[b]) for w, b in group.layers(name)),
        activation=group.activation,
        normalisation=normalisation,
        low=np.array(header.env.action_low, np.float32),
        high=np.array(header.env.action_high, np.float32),
        observation_space=seen,
        action_space=acts,
        control_rate_hz=rate,
        replayed=steps.obs,
    )


def _flattened(space: Box) -> str:
    """Return how an array is flattened for the actor; empty for a one-dimensional space."""
    return f", flattened row by row (shape {space.shape})" if len(space.shape) != 1 else ""


def _control_rate(env: AgentView, repeat: int) -> float | None:
    """Return decisions per second of simulated time."""
    # ``dt`` first: some environments, such as Pendulum, render at a rate other than their physics.
    step = rate_of(getattr(env.unwrapped, "dt", None))
    if step is not None:
        return float(f"{1 / (step * repeat):.6g}")
    return rate_of(env.metadata.get("render_fps"))
