"""Reads TD3, DDPG and the mean of SAC from the ``.zip`` of stable-baselines3.

``policy_class``, spaces and noise are pickles inside JSON. They are read as data (see
:mod:`~td3core.importers.inert_pickle`); the replay buffer is a separate file and is not read.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.config.env_choice import EnvChoice
from td3core.config.run_config import HIGHEST_SEED
from td3core.config.settings import nearest
from td3core.config.tunables import Tunables
from td3core.errors import RequestError, brief
from td3core.importers.archive import Archive, read_file
from td3core.importers.damage import DAMAGE, UnexpectedError, reading
from td3core.importers.foreign import (
    NO_OPTIMISERS,
    OTHER_OPTIMISER,
    ForeignAgent,
    Layers,
    Moments,
    moments_of,
    numbered,
    reasons_among,
    require_no_more,
    source,
    take_layers,
)
from td3core.importers.inert_pickle import Global, Made, array_of, read_pickle
from td3core.importers.tensors import read_pth, state_dict
from td3core.text import SettingName, Text

_DATA, _POLICY, _NOTES = "data", "policy.pth", "td3_studio.json"
_MOST_JSON, _MOST_NOTES = 16 * 2**20, 256 * 1024
_MOST_LEFT_OUT = 20
"""Lines on what an export of this program left out."""
_ACTIVATIONS = {
    Global("torch.nn.modules.activation", "ReLU"): "relu",
    Global("torch.nn.modules.activation", "Tanh"): "tanh",
}
_NAMES = {
    "gamma": "gamma",
    "tau": "tau",
    "batch_size": "batch_size",
    "buffer_size": "buffer_size",
    "learning_starts": "learning_starts",
    "n_steps": "n_step",
    "policy_delay": "policy_delay",
    "target_policy_noise": "policy_noise",
    "target_noise_clip": "noise_clip",
}
"""Names of settings in stable-baselines3, with the names here."""
_WHOLE = ("num_timesteps", "_n_updates", "_episode_num")


def read(path: Path) -> ForeignAgent:
    """Return the agent of a zip.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    return read_zip(path.name, _contents(path))


def is_readable(path: Path) -> bool:
    """Return whether a file is of this kind, by its name."""
    return path.suffix.lower() == ".zip"


def _contents(path: Path) -> bytes:
    with reading(path.name, "the file"):
        return read_file(path)


def read_zip(file: str, contents: bytes) -> ForeignAgent:
    """Return the agent from the contents of a zip named ``file``.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    with reading(file, "the zip"):
        archive = Archive(contents)
        if _DATA not in archive or _POLICY not in archive:
            raise UnexpectedError("there is no agent of stable-baselines3")
    with reading(file, _DATA):
        data = json.loads(archive.read(_DATA, _MOST_JSON))
        if not isinstance(data, dict):
            raise UnexpectedError("there is no description")
    reader = _Reader(file, archive, data)
    return reader.agent(source(file, contents))


class _Reader:
    """Reads the parts of one zip, and collects notes on what it lacks."""

    def __init__(self, file: str, archive: Archive, data: Mapping[str, Any]) -> None:
        self._file, self._archive, self._data = file, archive, data
        self._notes: list[Text] = []
        self._rates: dict[str, float] = {}
        """Learning rates of ``actor`` and ``critic`` when saved."""

    def agent(self, origin: tuple[str, str]) -> ForeignAgent:
        with reading(self._file, _POLICY):
            tensors = state_dict(read_pth(self._archive.read(_POLICY)))
        with reading(self._file, _DATA):
            low, high = self._bounds()
            own_env = self._own_env()
            found: dict[str, Any] = {
                "activation": self._activation(),
                "low": low,
                "high": high,
                "env": own_env,
                # In a file of the studio, normalisation is part of the networks.
                "statistics_apart": own_env is None,
                "sources": (origin,),
            }
            inputs = self._observations()
            steps, updates, episodes = (self._whole(name) for name in _WHOLE)
            found |= {"env_steps": steps, "updates": updates, "episodes": episodes}
        with reading(self._file, _POLICY):
            if "actor.mu.0.weight" not in tensors and "actor.mu.weight" in tensors:
                found |= self._mean_of_sac(tensors, inputs)
            else:
                found |= self._networks(tensors, inputs)
        if "critics" in found:
            found |= self._optimisers(found)
        with reading(self._file, _DATA):
            found["settings"] = self._settings(found)
        return ForeignAgent(**found | {"notes": tuple(self._notes)})

    # Networks ------------------------------------------------------------------------------------

    def _networks(self, tensors: dict[str, NDArray[Any]], obs_dim: int) -> dict[str, Any]:
        """Return actor, critics and targets of TD3 or DDPG."""
        names = numbered(tensors, "actor.mu.", begin=0, step=2)
        actor = take_layers(tensors, names or ["actor.mu.0"], inputs=obs_dim)
        inputs = obs_dim + actor[-1][0].shape[0]
        count = 1
        while f"critic.qf{count}.0.weight" in tensors:
            count += 1
        if count > 2:
            raise UnexpectedError("there are {count} critics; one or two are known", count=count)
        critics, targets = list[Layers](), list[Layers]()
        for role, into in (("critic", critics), ("critic_target", targets)):
            for at in range(count):
                layers = numbered(tensors, f"{role}.qf{at}.", begin=0, step=2)
                names = layers or [f"{role}.qf{at}.0"]
                into.append(take_layers(tensors, names, inputs=inputs, outputs=1))
        names = [f"actor_target.mu.{2 * at}" for at in range(len(actor))]
        target = take_layers(tensors, names)
        require_no_more(tensors)
        networks = (actor, target), *((each, critics[0]) for each in (*critics, *targets))
        for one, other in networks:
            if [w.shape for w, _ in one] != [w.shape for w, _ in other]:
                raise UnexpectedError("networks that must have equal sizes differ")
        return {
            "kind": f"stable-baselines3 {'DDPG' if self._is_ddpg(count) else 'TD3'}",
            "actor": actor,
            "critics": tuple(critics),
            "target_actor": target,
            "target_critics": tuple(targets),
        }

    def _is_ddpg(self, critics: int) -> bool:
        # The settings of its DDPG: a TD3 may have a single critic as well.
        delay, clip = self._value("policy_delay", 1), self._value("target_noise_clip", 0)
        return critics == 1 and delay == 1 and clip == 0

    def _mean_of_sac(self, tensors: dict[str, NDArray[Any]], obs_dim: int) -> dict[str, Any]:
        names = numbered(tensors, "actor.latent_pi.", begin=0, step=2)
        if "actor.log_std" in tensors:
            require_no_more(["actor.log_std"])
        actor = take_layers(tensors, [*names, "actor.mu"], inputs=obs_dim)
        take_layers(tensors, ["actor.log_std"])
        require_no_more(key for key in tensors if not key.startswith("critic"))
        self._notes.append(
            Text(
                "SAC's policy is stochastic; only its mean action was imported. It can be replayed,"
                " but not trained further."
            )
        )
        return {"kind": "stable-baselines3 SAC", "actor": actor}

    def _optimisers(self, agent: Mapping[str, Any]) -> dict[str, Any]:
        moments: dict[str, Moments | Text] = {}
        for role, networks in (("actor", (agent["actor"],)), ("critic", agent["critics"])):
            member = f"{role}.optimizer.pth"
            if member not in self._archive:
                moments[role] = NO_OPTIMISERS
                continue
            with reading(self._file, member):
                state = read_pth(self._archive.read(member))
                moments[role], rate = moments_of(state, networks)
            if rate is not None:
                self._rates[role] = rate
        self._notes += reasons_among(moments.values())
        return {
            f"{role}_moments": found if isinstance(found, Moments) else None
            for role, found in moments.items()
        }

    # The description -----------------------------------------------------------------------------

    def _pickled(self, name: str) -> Any:
        """Return the pickled value of a key, which JSON could not hold; None if missing."""
        match self._data.get(name):
            case {":serialized:": str(text)}:
                try:
                    return read_pickle(base64.b64decode(text, validate=True))
                except UnexpectedError as problem:
                    raise UnexpectedError(
                        "{name}: {reason}", name=name, reason=problem.reason
                    ) from problem
        return None

    def _value(self, name: str, usual: Any = None) -> Any:
        """Return a value of the description; NumPy numbers, pickled inside the JSON, as numbers."""
        value = self._data.get(name, usual)
        if not isinstance(value, dict):
            return value
        try:
            return array_of(self._pickled(name)).item()
        except DAMAGE:
            # Not a number, but a function, for instance.
            return str(value.get(":type:"))

    def _activation(self) -> str:
        plain = self._data.get("policy_kwargs")
        found = self._pickled("policy_kwargs")
        if found is None:
            found = plain if isinstance(plain, dict) else {}
        if not isinstance(found, dict):
            raise UnexpectedError("policy_kwargs is no mapping")
        chosen = found.get("activation_fn")
        if chosen is None:
            return "relu"
        if chosen not in _ACTIVATIONS:
            raise UnexpectedError(
                "policy_kwargs has the activation {name}; ReLU and Tanh are known",
                name=str(chosen)[:80],
            )
        return _ACTIVATIONS[chosen]

    def _space(self, name: str) -> dict[str, Any]:
        """Return the attributes of a ``Box`` space."""
        match self._pickled(name):
            case Made(what=Global(_, "Box"), args=args, state=state):
                pass
            case Made(what=what):
                raise UnexpectedError("{name} is a {what}, not a Box", name=name, what=str(what))
            case _:
                raise UnexpectedError("{name} is missing", name=name)
        if isinstance(state, tuple):
            state = state[0]
        if not isinstance(state, dict) or args:
            raise UnexpectedError("{name} is described in an unknown way", name=name)
        return state

    def _bounds(self) -> tuple[Floats, Floats]:
        space = self._space("action_space")
        low, high = (array_of(space.get(name)) for name in ("low", "high"))
        if low.shape != high.shape or low.dtype.kind != "f" or not (low < high).all():
            raise UnexpectedError("action_space has impossible bounds")
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise UnexpectedError("action_space has infinite bounds")
        return low.ravel().astype(np.float32), high.ravel().astype(np.float32)

    def _observations(self) -> int:
        """Return the size of an observation; pictures are refused: they would be scaled first."""
        low = array_of(self._space("observation_space").get("low"))
        if low.dtype.kind != "f":
            raise UnexpectedError("observation_space has whole numbers")
        return low.size

    def _whole(self, name: str) -> int:
        value = self._data.get(name, 0)
        if type(value) is not int or not 0 <= value <= 10**12:
            raise UnexpectedError("{name} is not a valid count", name=name)
        return value

    def _settings(self, found: Mapping[str, Any]) -> dict[str, Any]:
        if "critics" not in found:
            return {}
        settings = {
            here: self._value(there) for there, here in _NAMES.items() if there in self._data
        }
        if settings.get("noise_clip") == 0:
            # Stable-baselines3's form of DDPG.
            settings["policy_noise"] = 0.0
        settings |= self._learning_rates() | self._frequency() | self._noise()
        settings = {name: self._in_range(name, value) for name, value in settings.items()}
        seed = self._value("seed")
        if type(seed) is int and 0 <= seed <= HIGHEST_SEED:
            settings["seed"] = seed
        return settings

    def _in_range(self, name: str, value: Any) -> Any:
        """Return the nearest valid value: the agent acts without it, only branches use it."""
        taken = nearest(name, value)
        if taken != value:
            self._notes.append(
                Text(
                    "{name} is {value} in the file; it is set to {taken}.",
                    name=SettingName(name),
                    value=brief(value, 40),
                    taken=taken,
                )
            )
        return taken

    def _learning_rates(self) -> dict[str, Any]:
        if OTHER_OPTIMISER in self._notes:
            return {}
        rate = self._value("learning_rate")
        if isinstance(rate, int | float) and not isinstance(rate, bool):
            return {"actor_lr": float(rate), "critic_lr": float(rate)}
        self._notes.append(
            Text("The learning rate followed a schedule; it stays at what it was last.")
        )
        return {f"{role}_lr": rate for role, rate in self._rates.items()}

    def _frequency(self) -> dict[str, Any]:
        """Return the update interval, and the number of updates each time."""
        steps, of_each = 1, self._value("gradient_steps", 1)
        match self._data.get("train_freq", 1), self._pickled("train_freq"):
            case int(every), _:
                steps = every
            case _, Made(args=(int(every), Made(args=("step",)))):
                steps = every
            case _:
                self._notes.append(
                    Text(
                        "Updates were made after each episode; here they are made after each step."
                    )
                )
                return {"update_interval": 1, "updates_per_step": 1}
        # -1 means as many as there were steps.
        each = of_each if type(of_each) is int and of_each >= 0 else steps
        return {"update_interval": steps, "updates_per_step": each}

    def _noise(self) -> dict[str, Any]:
        """Return the exploration noise, in units of half the range in both programs."""
        found, sigma = self._pickled("action_noise"), None
        if isinstance(found, Made) and str(found).endswith("NormalActionNoise"):
            state = found.state if isinstance(found.state, dict) else {}
            value = state.get("_sigma", found.args[1] if len(found.args) > 1 else None)
            if value is not None:
                sigma = np.unique(array_of(value))
        if sigma is not None and sigma.size and 0 <= float(sigma.max()) <= 2:
            if sigma.size > 1:
                self._notes.append(
                    Text("Exploration noise differed between actions; the largest is kept.")
                )
            return {"exploration_noise": float(sigma.max())}
        usual = Tunables().exploration_noise
        self._notes.append(
            Text("The file has no Gaussian exploration noise; it is set to {usual:g}.", usual=usual)
        )
        return {"exploration_noise": usual}

    def _own_env(self) -> EnvChoice | None:
        """Return the environment named by an export of this program; note what that left out."""
        if _NOTES not in self._archive:
            return None
        found = json.loads(self._archive.read(_NOTES, _MOST_NOTES))
        for line in found.get("left_out", [])[:_MOST_LEFT_OUT]:
            self._notes.append(Text("The export says: {line}", line=brief(line, 200)))
        args = dict(found.get("env_args") or {})
        repeat = found.get("action_repeat", 1)
        if repeat != 1:
            args["action_repeat"] = repeat
        try:
            return EnvChoice(str(found["env_id"]), json.dumps(args) if args else "")
        except RequestError as problem:
            raise UnexpectedError("the environment is described wrongly") from problem
