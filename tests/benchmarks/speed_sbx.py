"""Environment steps a second of SBX (stable-baselines3 in JAX), learning, with our settings.

    SBX_PYTHON -m tests.benchmarks.speed_sbx ENV COUNT WIDTH BATCH CORES

``speed.py --peer-python`` runs this with the Python of an environment of SBX's own, so that nothing
of this project is imported here. JAX takes every core it sees: CORES above 0 pins it to so many.
"""

import json
import os
import sys
import time

LEARNING_STARTS, COMPILING = 300, 200
"""Steps before the first update, and steps then in which JAX compiles."""


def main(env: str, count: int, width: int, batch: int, cores: int) -> None:
    """Print the steps per second as JSON."""
    if cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    import gymnasium as gym
    import numpy as np
    from sbx import TD3
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.noise import NormalActionNoise

    class Watch(BaseCallback):
        began = 0.0

        def _on_step(self) -> bool:
            if self.num_timesteps == LEARNING_STARTS + COMPILING:
                self.began = time.perf_counter()
            return True

    made, watch = gym.make(env), Watch()
    shape = made.action_space.shape or ()
    model = TD3(
        "MlpPolicy",
        made,
        learning_rate=3e-4,
        buffer_size=1_000_000,
        learning_starts=LEARNING_STARTS,
        batch_size=batch,
        train_freq=1,
        gradient_steps=1,
        action_noise=NormalActionNoise(np.zeros(shape), 0.1 * np.ones(shape)),
        policy_kwargs={"net_arch": [width, width]},
        seed=0,
    )
    model.learn(LEARNING_STARTS + COMPILING + count, callback=watch)
    print(json.dumps({"per_s": count / (time.perf_counter() - watch.began)}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
