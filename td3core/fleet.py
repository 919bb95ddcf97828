"""The environments of a run: stepped together, each with episodes and noise of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from td3core.config import RunConfig
from td3core.env_info import EnvInfo, Floats
from td3core.episode import Start
from td3core.errors import RunError
from td3core.randomness import Purpose, generator, generator_state, restore_generator
from td3core.stepping import Board, Stepper
from td3core.stepping_processes import ProcessStepper


@dataclass(slots=True)
class Slot:
    """One of the environments: its generators, and where its current episode stands.

    ``episode`` counts the episodes of the whole run in the order they begin. With the actions taken
    since, it is all that is needed to have the environment again.
    """

    number: int
    warm_up: np.random.Generator
    exploration: np.random.Generator
    episode: int = 0
    began_at: int = 0
    """The run's step its episode began after."""
    length: int = 0
    total: float = 0.0
    shaped_return: float = 0.0
    terminated: bool = False

    def begin(self, episode: int, env_steps: int) -> Start:
        """Forget the episode before."""
        self.episode, self.began_at = episode, env_steps
        self.length, self.total, self.shaped_return, self.terminated = 0, 0.0, 0.0, False
        return Start(self.number, episode, env_steps)

    def numbers(self) -> NDArray[np.float64]:
        """Return where its episode stands, as a row for a checkpoint."""
        count = (self.episode, self.began_at, self.length)
        return np.array([*count, self.total, self.shaped_return], np.float64)

    def load(self, numbers: NDArray[np.float64], tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`numbers` and :meth:`streams` returned."""
        self.episode, self.began_at, self.length = (int(value) for value in numbers[:3])
        self.total, self.shaped_return = (float(value) for value in numbers[3:])
        suffix = f".{self.number}" if self.number else ""
        restore_generator(self.warm_up, tensors[f"generator.warm_up{suffix}"])
        restore_generator(self.exploration, tensors[f"generator.exploration{suffix}"])

    def add(self, reward: float, shaped: float, *, terminated: bool) -> None:
        """Count one step: the environment's own reward, and what the agent learns from."""
        self.length += 1
        self.total += reward
        self.shaped_return += shaped
        self.terminated = terminated

    def streams(self) -> dict[str, NDArray[np.uint64]]:
        """Return the states of its generators, under the names they have in a checkpoint."""
        suffix = f".{self.number}" if self.number else ""
        return {
            f"generator.warm_up{suffix}": generator_state(self.warm_up),
            f"generator.exploration{suffix}": generator_state(self.exploration),
        }


class Fleet:
    """All environments of a run. A context: leaving it closes them.

    The arrays it hands out are its own, and change with the next call.

    Raises:
        RequestError: the environment cannot be made where the settings want it.
        RunError: from :meth:`begin` and :meth:`step`, when an environment fails; where several do
            in one step, it tells of the lowest slot.
    """

    def __init__(self, config: RunConfig, info: EnvInfo) -> None:
        count, seed = config.num_envs, config.seed
        self.slots = tuple(
            Slot(
                number,
                warm_up=generator(seed, Purpose.WARM_UP, number),
                exploration=generator(seed, Purpose.EXPLORATION, number),
            )
            for number in range(count)
        )
        self._begun = 0
        self._stepper: Stepper | ProcessStepper
        if config.env_processes:
            self._stepper = ProcessStepper(info, seed, count, config.env_processes)
        else:
            memory = np.zeros(Board.size(info, count), np.uint8)
            self._stepper = Stepper(info, seed, Board.over(memory, info, count), count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stepper.close()

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def obs(self) -> Floats:
        """The current observations (n, obs_dim)."""
        return self._stepper.board.obs

    def begin(self, slots: Iterable[Slot], env_steps: int) -> None:
        """Begin the next episodes of the run, one in each of ``slots``, lowest first."""
        starts = []
        for slot in slots:
            starts.append(slot.begin(self._begun, env_steps))
            self._begun += 1
        self._stepper.begin(starts)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the generators' states, where each episode stands, and what is seen there."""
        numbers = np.array([slot.numbers() for slot in self.slots])
        return {**self.streams(), "episodes.numbers": numbers, "episodes.obs": self.obs.copy()}

    def load_state(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`state` returned; the environments are not there yet."""
        for slot, numbers in zip(self.slots, tensors["episodes.numbers"], strict=True):
            slot.load(numbers, tensors)
        self._begun = 1 + max(slot.episode for slot in self.slots)

    def return_to(self, slot: Slot, actions: Floats, obs: Floats) -> bool:
        """Begin a slot's episode again and take its actions (n, act_dim); say if it is the same.

        It is not if another observation than ``obs`` (obs_dim,) comes of that.
        """
        start = Start(slot.number, slot.episode, slot.began_at, actions)
        try:
            self._stepper.begin([start])
        except RunError:
            return False
        return bool(np.array_equal(self.obs[slot.number], obs))

    def step(self, actions: Floats) -> Board:
        """Take actions (n, act_dim) in [-1, 1]; return what came of each."""
        board = self._stepper.board
        board.action[:] = actions
        self._stepper.step()
        return board

    def streams(self) -> dict[str, NDArray[np.uint64]]:
        """Return the states of all generators, under the names they have in a checkpoint."""
        return {name: state for slot in self.slots for name, state in slot.streams().items()}
