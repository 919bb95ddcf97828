"""The environments of a run: stepped together, each with episodes and noise of its own."""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.config import RunConfig
from td3core.envs.episode import EpisodeStart
from td3core.envs.info import EnvInfo
from td3core.envs.process_stepper import ProcessStepper
from td3core.envs.slot import EnvSlot
from td3core.envs.stepper import StepArrays, Stepper
from td3core.errors import RunError
from td3core.randomness import Purpose, generator


class VectorEnv:
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
            EnvSlot(
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
            memory = np.zeros(StepArrays.size(info, count), np.uint8)
            self._stepper = Stepper(info, seed, StepArrays.over(memory, info, count), count)

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
        return self._stepper.arrays.obs

    def begin(self, slots: Iterable[EnvSlot], env_steps: int) -> None:
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

    def return_to(self, slot: EnvSlot, actions: Floats, obs: Floats) -> bool:
        """Begin a slot's episode again and take its actions (n, act_dim); say if it is the same.

        It is not if another observation than ``obs`` (obs_dim,) comes of that.
        """
        start = EpisodeStart(slot.number, slot.episode, slot.began_at, actions)
        try:
            self._stepper.begin([start])
        except RunError:
            return False
        return bool(np.array_equal(self.obs[slot.number], obs))

    def step(self, actions: Floats) -> StepArrays:
        """Take actions (n, act_dim) in [-1, 1]; return what came of each."""
        arrays = self._stepper.arrays
        arrays.action[:] = actions
        self._stepper.step()
        return arrays

    def streams(self) -> dict[str, NDArray[np.uint64]]:
        """Return the states of all generators, under the names they have in a checkpoint."""
        return {name: state for slot in self.slots for name, state in slot.streams().items()}
