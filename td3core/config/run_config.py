"""The settings that are fixed for the whole of a run."""

import os
from dataclasses import dataclass

from td3core.config.env_choice import EnvChoice
from td3core.config.spec import check_fields, setting
from td3core.errors import RequestError


def default_threads() -> int:
    """Return the number of torch threads that leaves one core to the window (at least 1)."""
    return max(1, (os.cpu_count() or 1) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The settings that stay as they are for the whole of a run."""

    env: str = setting(
        label="Environment", help="Identifier of a Gymnasium environment with a continuous action."
    )
    env_args: str = setting(
        "",
        label="Environment arguments",
        help="A JSON object of arguments the environment is made with, for instance"
        ' {"xml_file": "/path/to/ant.xml", "healthy_z_range": [0.1, 1.5]} or'
        ' {"max_episode_steps": 500}. Empty for none.',
    )
    env_check: bool = setting(
        True,
        label="Check environment",
        help="Before the first step, an environment that is not one of the known ones is tried for"
        " a moment: finite observations of the announced size, repeatable episodes that end.",
    )
    preset: str = setting("", label="Preset", help="The preset these settings came from.")
    seed: int = setting(
        0,
        label="Seed",
        low=0,
        high=2**31 - 1,
        help="Same seed, machine and thread count: the same run, bit for bit.",
    )
    steps: int = setting(
        300_000,
        label="Steps",
        unit="environment steps",
        low=1,
        high=1e10,
        help="Length of the run in environment steps, warm-up included.",
    )
    threads: int = setting(
        0,
        label="Threads",
        zero="automatic",
        low=0,
        high=1024,
        help="Torch threads for the updates. 0 means one less than the machine has cores.",
    )
    num_envs: int = setting(
        1,
        label="Environments",
        low=1,
        high=64,
        help="Parallel environments, stepped together: n environment steps at a time, and then the"
        " updates of n. Each has reset seeds and noise of its own. A run ends, evaluates and saves"
        " at the first such border that reaches the step.",
    )
    env_processes: int = setting(
        0,
        label="Environment processes",
        zero="none",
        low=0,
        high=64,
        help="Spread the environments over this many processes, which step them at the same time:"
        " worth it where cores are free and a step is slow. 0 steps them in the training thread."
        " The run and its results are the same either way.",
    )
    device: str = setting(
        "cpu",
        label="Device",
        choices=("cpu", "cuda"),
        help="Where updates are computed. With networks of this size a processor is often as fast"
        " as a graphics processor (cuda), which pays for wide layers and large batches.",
    )
    learning_starts: int = setting(
        25_000,
        label="Warm-up",
        unit="environment steps",
        low=0,
        high=1e9,
        help="Uniform random actions before the first update, to fill the replay buffer.",
    )
    buffer_size: int = setting(
        1_000_000,
        label="Replay buffer",
        unit="transitions",
        low=1,
        high=1e8,
        help="Transitions kept; the oldest are overwritten first.",
    )
    actor_hidden: tuple[int, ...] = setting(
        (256, 256),
        label="Actor layers",
        low=1,
        high=8192,
        help="Widths of the actor's hidden layers, for instance 256, 256.",
    )
    critic_hidden: tuple[int, ...] = setting(
        (256, 256),
        label="Critic layers",
        low=1,
        high=8192,
        help="Widths of each critic's hidden layers, for instance 256, 256.",
    )
    actor_activation: str = setting(
        "relu",
        label="Actor activation",
        choices=("relu", "tanh"),
        help="Nonlinearity of the actor's hidden layers; its output is always tanh.",
    )
    critic_activation: str = setting(
        "relu",
        label="Critic activation",
        choices=("relu", "tanh"),
        help="Nonlinearity of the critics' hidden layers.",
    )
    twin_critics: bool = setting(
        True,
        label="Twin critics",
        help="Clipped double Q-learning: the target takes the smaller of two critics."
        " Off: one critic and no minimum, as in DDPG.",
    )
    reward_scale: float = setting(
        1.0,
        label="Reward scale",
        low=1e-6,
        high=1e6,
        help="What the agent learns from is max(scale × reward, floor). Logged returns are always"
        " the environment's own; the shaped ones are logged beside them.",
    )
    reward_floor: float = setting(
        -1e9,
        label="Reward floor",
        low=-1e9,
        high=1e9,
        help="Rewards, once scaled, never count for less than this; softens a penalty for falling."
        " The default never matters.",
    )
    normalize_observations: bool = setting(
        False,
        label="Normalise observations",
        help="Observations are brought to mean 0 and variance 1 by running statistics, which are"
        " saved with the agent and applied wherever it acts.",
    )
    lr_final: float = setting(
        1.0,
        label="Final learning rate",
        unit="share of the first",
        low=0.0,
        high=1.0,
        help="Both learning rates fall linearly to this share of their value at the last step."
        " 1 keeps them as they are.",
    )
    eval_interval: int = setting(
        5_000,
        label="Evaluate every",
        zero="never",
        unit="environment steps",
        low=0,
        high=1e9,
        help="Steps between noise-free evaluations. 0 switches evaluation off.",
    )
    eval_episodes: int = setting(
        10,
        label="Evaluation episodes",
        low=1,
        high=1000,
        help="Completed noise-free episodes in each evaluation.",
    )
    eval_beside: bool = setting(
        True,
        label="Evaluate beside",
        help="Evaluations run in a process of their own while training goes on. Off: training"
        " waits for each. The run and its results are the same either way.",
    )
    keep_replay: bool = setting(
        True,
        label="Keep replay buffer",
        help="The replay buffer is kept on disk with the run, so that it can go on exactly where it"
        " was. Off: a run that goes on fills it anew first.",
    )
    checkpoint_interval: int = setting(
        10_000,
        label="Checkpoint every",
        zero="never",
        unit="environment steps",
        low=0,
        high=1e9,
        help="Steps between saved checkpoints. 0 saves only the best and the last.",
    )
    keep_every: int = setting(
        1,
        label="Keep every nth",
        zero="none",
        unit="checkpoints",
        low=0,
        high=1e9,
        help="Of the checkpoints saved along the way every n-th stays on disk: 1 keeps them all, 0"
        " none for its turn. The best, the last and those a person asked for always stay.",
    )
    keep_best: int = setting(
        0,
        label="Keep the best",
        zero="none",
        unit="checkpoints",
        low=0,
        high=1e9,
        help="So many of the checkpoints saved along the way stay for the return of their"
        " evaluation, besides every n-th. Without effect while all are kept.",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.env.strip():
            raise RequestError("env is empty; name a Gymnasium environment such as Pendulum-v1.")
        object.__setattr__(self, "env_args", self.choice.args)

    @property
    def choice(self) -> EnvChoice:
        """The environment and the arguments it is made with."""
        return EnvChoice(self.env, self.env_args)

    @property
    def torch_threads(self) -> int:
        """The thread count the run will use (``threads``, or the default when it is 0)."""
        return self.threads or default_threads()
