"""The parallel environments of a run, stepped together."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.config import RunConfig
from td3core.config.info_columns import parse_names
from td3core.envs.episode import EpisodeStart, RecordedSteps
from td3core.envs.info import EnvInfo
from td3core.envs.process_stepper import ProcessStepper
from td3core.envs.slot import EnvSlot
from td3core.envs.stepper import StepArrays, Stepper
from td3core.errors import RunError
from td3core.randomness import Purpose, generator


class VectorEnv:
    """All environments of a run; a context manager that closes them.

    The arrays it returns are reused: their contents change with the next call.

    Raises:
        RequestError: the environment cannot be made in a new process.
        RunError: from :meth:`begin` and :meth:`finish`, if an environment fails; the lowest slot
            if several fail in one step.
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
        names = parse_names(config.info_columns)
        if config.stepping_processes:
            asked_by = "env_processes" if config.env_processes else "update_while_stepping"
            processes = config.stepping_processes
            self._stepper = ProcessStepper(info, seed, count, processes, names, asked_by)
        else:
            memory = np.zeros(StepArrays.size(info, count, len(names)), np.uint8)
            arrays = StepArrays.over(memory, info, count, len(names))
            self._stepper = Stepper(info, seed, arrays, count, info_names=names)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stepper.close()

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def obs(self) -> Floats:
        """The current observations (n, obs_dim)."""
        return self._stepper.arrays.obs

    def begin(self, slots: Iterable[EnvSlot], env_steps: int) -> None:
        """Begin the next episode of the run in each of ``slots``, in order."""
        starts = []
        for slot in slots:
            starts.append(slot.begin(self._begun, env_steps))
            self._begun += 1
        self._stepper.begin(starts)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return generators, episodes and observations under their names in a checkpoint."""
        episodes = np.array([slot.episode_state() for slot in self.slots])
        state = {
            **self.generator_states(),
            "episodes.numbers": episodes,
            "episodes.obs": self.obs.copy(),
        }
        if any(slot.noise is not None for slot in self.slots):
            noise = np.zeros_like(self._stepper.arrays.action)
            for slot in self.slots:
                if slot.noise is not None:
                    noise[slot.number] = slot.noise
            state["episodes.noise"] = noise
        return state

    def load_state(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Restore what :meth:`state` returned, except the environments (see :meth:`return_to`)."""
        for slot, row in zip(self.slots, tensors["episodes.numbers"], strict=True):
            slot.load(row, tensors)
        self._begun = 1 + max(slot.episode for slot in self.slots)

    def return_to(self, slot: EnvSlot, recorded: RecordedSteps, obs: Floats) -> bool:
        """Begin a slot's episode again and repeat its steps.

        Returns:
            True if observations, rewards and ends equal the recorded ones, and the last observation
            is ``obs`` (obs_dim,).
        """
        start = EpisodeStart(slot.number, slot.episode, slot.began_at, recorded)
        try:
            self._stepper.begin([start])
        except RunError:
            return False
        return bool(np.array_equal(self.obs[slot.number], obs))

    def start(self, actions: Floats) -> None:
        """Begin a step with actions (n, act_dim) in [-1, 1]; child processes take it at once."""
        self._stepper.arrays.action[:] = actions
        self._stepper.start()

    def finish(self) -> StepArrays:
        """Return the results of the step begun by :meth:`start`."""
        self._stepper.finish()
        return self._stepper.arrays

    def generator_states(self) -> dict[str, NDArray[np.uint64]]:
        """Return the states (6,) of all generators under their names in a checkpoint."""
        return {
            name: state for slot in self.slots for name, state in slot.generator_states().items()
        }
