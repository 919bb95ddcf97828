"""Exports an agent as a zip for ``TD3.load`` of stable-baselines3, without needing it or torch."""

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from td3core.algorithm.adam import BETA1, BETA2, EPSILON
from td3core.arrays import Floats
from td3core.config.networks import ACTOR, CRITIC, TARGET, NetworkGroup, optimizer_of
from td3core.config.tunables import NO_FLOOR
from td3core.errors import RequestError
from td3core.exporters.actor.deployed import DeployedActor, deployed_actor
from td3core.exporters.actor.torch_files import Call, Global, pickled, pth_file, zip_file
from td3core.inference.normaliser import OBS_CLIP
from td3core.inference.policy import Policy
from td3core.system.files import write_atomically
from td3core.text import SettingName, Text

VERSION = "2.6.0"
"""The oldest version of stable-baselines3 with which loading the file was tested."""
NOTES = "td3_studio.json"
"""Member with bounds, action repeat, control rate and differences; the loader skips it."""
_POLICIES = "stable_baselines3.td3.policies"
_ACTIVATIONS = {
    "relu": Global("torch.nn.modules.activation", "ReLU"),
    "tanh": Global("torch.nn.modules.activation", "Tanh"),
}

Parameters = dict[str, Floats]
"""Weights and biases by their names in a state dict, in the order of ``parameters()``."""


def export(checkpoint: Path, target: Path) -> Text:
    """Write the agent with critics, targets and optimisers, so that it can continue learning."""
    actor = deployed_actor(checkpoint)
    _require_suitable(actor)
    export = _Export(actor)
    checked = actor.require_parity(export.act)
    write_atomically(target, zip_file(export.members()))
    return Text("{checked}; see {notes} inside for the differences", checked=checked, notes=NOTES)


def _require_suitable(actor: DeployedActor) -> None:
    """Refuse agents that stable-baselines3 would treat differently.

    Raises:
        RequestError: with the reason.
    """
    spaces = (actor.observation_space, actor.action_space)
    if any(len(space.shape) != 1 or np.dtype(space.dtype).kind != "f" for space in spaces):
        raise RequestError(
            "stable-baselines3 would scale the observations or actions of {env} differently: they"
            " are not one-dimensional arrays of floating-point numbers.",
            env=actor.source.header.env.env_id,
        )
    networks = actor.source.header.networks
    first = networks[CRITIC].layers(networks[CRITIC].names[0])[0][0]
    if first not in actor.source.tensors:
        raise RequestError(
            "This file holds the actor only; stable-baselines3 needs the critics, too."
        )
    if networks[CRITIC].activation != actor.activation:
        raise RequestError(
            "stable-baselines3 has one activation for all networks; this agent's actor has"
            " {actor}, its critics have {critics}.",
            actor=actor.activation,
            critics=networks[CRITIC].activation,
        )
    if networks[CRITIC].widths[-1] > 1:
        raise RequestError(
            "In stable-baselines3, TD3 critics output a single value; this agent's critics output"
            " {count} quantiles ({key}).",
            key=SettingName("quantiles"),
            count=networks[CRITIC].widths[-1],
        )
    if networks[CRITIC].layer_norm:
        raise RequestError(
            "TD3 of stable-baselines3 has no layer normalisation in its critics; this agent's"
            " critics were trained with it ({key}).",
            key=SettingName("critic_layer_norm"),
        )
    _require_unclipped(actor)


def _require_unclipped(actor: DeployedActor) -> None:
    if actor.normalisation is None:
        return
    shift, scale = actor.normalisation
    largest = np.abs((actor.replayed - shift) * scale).max(axis=0)
    if largest.max() >= OBS_CLIP:
        raise RequestError(
            "Observation {index} is clipped at {clip:g} standard deviations, which"
            " stable-baselines3 cannot do inside its networks.",
            index=int(largest.argmax()),
            clip=OBS_CLIP,
        )


class _Export:
    """The networks and settings of an agent under the names of stable-baselines3."""

    def __init__(self, actor: DeployedActor) -> None:
        self._actor, self._header = actor, actor.source.header
        networks = self._header.networks
        self._actor_group, self._critic_group = networks[ACTOR], networks[CRITIC]
        self._notes = [
            "Actions are predicted in the environment's bounds.",
            f"Take each action {self._header.choice.action_repeat} times.",
            "The replay buffer is empty.",
        ]

    def act(self, obs: Floats) -> Floats:
        """Return the result of ``predict``: actions (n, act_dim) for observations (n, obs_dim)."""
        parameters = [*self._network(self._actor_group, "actor", "actor.mu").values()]
        layers = [*zip(parameters[::2], parameters[1::2], strict=True)]
        policy = Policy(layers, self._actor.activation)
        low, high = self._actor.low, self._actor.high
        actions: Floats = low + np.float32(0.5) * (policy(obs) + np.float32(1)) * (high - low)
        return actions

    def members(self) -> dict[str, bytes]:
        """Return the files of the zip."""
        critics = {name: f"critic.qf{at}" for at, name in enumerate(self._critic_group.names)}
        policy = self._networks({"actor": "actor.mu"}, self._actor_group)
        policy |= self._networks(critics, self._critic_group)
        return {
            "data": self._data().encode(),
            "pytorch_variables.pth": pth_file({}),
            "policy.pth": pth_file(policy),
            "actor.optimizer.pth": pth_file(self._optimizer(ACTOR)),
            "critic.optimizer.pth": pth_file(self._optimizer(CRITIC)),
            "_stable_baselines3_version": VERSION.encode(),
            "system_info.txt": f"- Written by: {self._actor.facts()['producer']}\n".encode(),
            # Last: the members written above add to the notes.
            NOTES: json.dumps(self._facts(), indent=2, allow_nan=False).encode(),
        }

    def _facts(self) -> dict[str, Any]:
        left_out = self._left_out()
        notes = [*self._notes, *left_out]
        return self._actor.facts() | {"notes": notes, "left_out": left_out}

    def _networks(self, named: dict[str, str], group: NetworkGroup) -> Parameters:
        found: Parameters = {}
        for name, prefix in named.items():
            role, _, rest = prefix.partition(".")
            found |= self._network(group, name, prefix)
            target = f"{name}{TARGET}"
            if group.layers(target)[0][0] not in self._actor.source.tensors:
                self._note("The targets start as copies: the file was that of an agent only.")
                target = name
            found |= self._network(group, target, f"{role}_target.{rest}")
        return found

    def _network(self, group: NetworkGroup, name: str, prefix: str) -> Parameters:
        """Return the layers of a network; the first includes the normalisation."""
        found, tensors = Parameters(), self._actor.source.tensors
        for at, (weight_name, bias_name) in enumerate(group.layers(name)):
            weight, bias = tensors[weight_name], tensors[bias_name]
            if at == 0:
                weight, bias = self._folded(weight, bias)
            # Indices are doubled: the activations between the layers count as well.
            found |= {f"{prefix}.{2 * at}.weight": weight, f"{prefix}.{2 * at}.bias": bias}
        return found

    def _folded(self, weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Return a first layer for raw observations; action inputs, if any, stay unchanged."""
        if self._actor.normalisation is None:
            return weight, bias
        shift, scale = (each.astype(np.float64) for each in self._actor.normalisation)
        wide = weight.astype(np.float64)
        wide[:, : len(scale)] *= scale
        moved = bias - wide[:, : len(shift)] @ shift
        return wide.astype(np.float32), moved.astype(np.float32)

    def _optimizer(self, role: str) -> dict[str, Any]:
        """Return the state dict of Adam: moments in the order of the weights, if known."""
        group, adam = self._header.networks[role], optimizer_of(role)
        tensors, tunables = self._actor.source.tensors, self._header.tunables
        names = [each for name in group.names for pair in group.layers(name) for each in pair]
        state: dict[int, dict[str, Floats]] = {}
        if f"{adam}.step" not in tensors:
            self._note("The optimiser state is reset: the file was that of an agent only.")
        elif self._actor.normalisation is not None:
            self._note(
                "The optimiser state is reset: normalisation is part of the first layers now."
            )
        else:
            step = tensors[f"{adam}.step"].reshape(())
            state = {
                at: {
                    "step": step,
                    "exp_avg": tensors[f"{adam}.{name}.exp_avg"],
                    "exp_avg_sq": tensors[f"{adam}.{name}.exp_avg_sq"],
                }
                for at, name in enumerate(names)
            }
        options = {
            "lr": tunables.actor_lr if role == ACTOR else tunables.critic_lr,
            "betas": (BETA1, BETA2),
            "eps": EPSILON,
            "weight_decay": 0,
            "amsgrad": False,
            "params": list(range(len(names))),
        }
        return {"state": state, "param_groups": [options]}

    def _data(self) -> str:
        """Return the member ``data``: plain JSON, and pickles of names and spaces."""
        header, tunables = self._header, self._header.tunables
        architecture = {
            "pi": list(self._actor_group.widths[1:-1]),
            "qf": list(self._critic_group.widths[1:-1]),
        }
        policy = {
            "net_arch": architecture,
            "n_critics": len(self._critic_group.names),
            "activation_fn": _ACTIVATIONS[self._actor.activation],
        }
        return json.dumps(
            {
                "policy_class": _named("<class 'abc.ABCMeta'>", Global(_POLICIES, "TD3Policy")),
                "policy_kwargs": _named("<class 'dict'>", policy),
                "observation_space": _space(self._actor.observation_space),
                "action_space": _space(self._actor.action_space),
                "action_noise": self._noise(),
                "verbose": 0,
                "n_envs": 1,
                "num_timesteps": header.counters.env_steps,
                "_n_updates": header.counters.updates,
                "_episode_num": header.counters.episodes,
                "learning_rate": tunables.critic_lr,
                "learning_starts": header.config.learning_starts,
                "buffer_size": header.config.buffer_size,
                "batch_size": tunables.batch_size,
                "gamma": tunables.gamma,
                "tau": tunables.tau,
                "train_freq": tunables.update_interval,
                "gradient_steps": tunables.updates_per_step,
                "policy_delay": tunables.policy_delay,
                "target_policy_noise": tunables.policy_noise,
                "target_noise_clip": tunables.noise_clip,
            },
            indent=1,
        )

    def _noise(self) -> dict[str, str]:
        """Return the exploration noise, in units of half the range in both programs."""
        count = self._header.env.act_dim
        noise = (np.zeros(count), np.full(count, self._header.counters.exploration_noise))
        kind = Global("stable_baselines3.common.noise", "NormalActionNoise")
        return _named(f"<class '{kind.module}.{kind.name}'>", Call(kind, noise))

    def _left_out(self) -> list[str]:
        """Return what of the settings stable-baselines3 cannot do."""
        tunables, config, found = self._header.tunables, self._header.config, list[str]()
        if tunables.actor_lr != tunables.critic_lr:
            found.append("stable-baselines3 has one learning rate: that of the critics is kept.")
        if tunables.n_step > 1:
            found.append(f"Returns of {tunables.n_step} steps are not carried over.")
        if tunables.schedules:
            names = ", ".join(name for name, _ in tunables.schedules)
            found.append(f"Schedules are not carried over: {names}.")
        if tunables.exploration_noise_decay < 1.0:
            found.append("Exploration noise stays as it is: it does not decay.")
        if config.num_envs > 1:
            found.append(
                f"The agent learned in {config.num_envs} environments at once, not in one."
            )
        if tunables.action_penalty:
            found.append("The penalty on the actor's actions is not carried over.")
        if tunables.noise_correlation:
            found.append("Exploration noise is not correlated from step to step.")
        if (config.reward_scale, tunables.reward_floor) != (1.0, NO_FLOOR):
            found.append(
                "The critics learned from max(reward × "
                f"{config.reward_scale:g}, {tunables.reward_floor:g})."
            )
        return found

    def _note(self, line: str) -> None:
        if line not in self._notes:
            self._notes.append(line)


def _named(kind: str, value: Any) -> dict[str, str]:
    """Return stable-baselines3's encoding of a value that JSON cannot hold."""
    return {":type:": kind, ":serialized:": base64.b64encode(pickled(value)).decode()}


def _space(space: Box) -> dict[str, str]:
    # A new space: the environment's own may be of a custom class, and holds a random generator.
    plain = Box(space.low, space.high, dtype=space.dtype.type)
    text = base64.b64encode(pickle.dumps(plain)).decode()
    return {":type:": "<class 'gymnasium.spaces.box.Box'>", ":serialized:": text}
