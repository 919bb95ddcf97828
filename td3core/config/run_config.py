"""The settings that are fixed for the duration of a run."""

from dataclasses import dataclass

from td3core.config.algorithms import ALGORITHMS, TD3
from td3core.config.env_choice import EnvChoice
from td3core.config.info_columns import canonical_names
from td3core.config.spec import check_fields, setting
from td3core.errors import RequestError
from td3core.system.capacity import usable_cores
from td3core.system.numerics import AUTO, CLASSES
from td3core.text import SettingName, Text

COMPILED, TORCH = "compiled", "torch"
"""Engines that compute the updates."""
HIGHEST_SEED = 2**31 - 1


def default_threads() -> int:
    """Return the number of torch threads that leaves one core for the window (at least 1)."""
    return max(1, usable_cores() - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The settings that are fixed for the duration of a run."""

    env: str = setting(
        label=Text("Environment"),
        help=Text("A Gymnasium environment with a continuous action space."),
    )
    env_args: str = setting(
        "",
        label=Text("Environment arguments"),
        longest=10_000,
        help=Text(
            "Arguments passed to the environment, as a JSON object. For instance {one} or {other}."
            " {twice} takes each action twice. Empty for none.",
            one='{"xml_file": "/path/to/ant.xml", "healthy_z_range": [0.1, 1.5]}',
            other='{"max_episode_steps": 500}',
            twice='{"action_repeat": 2}',
        ),
    )
    info_columns: str = setting(
        "",
        label=Text("Info columns"),
        longest=10_000,
        help=Text(
            "Numbers of the environment's info to record, separated by commas, such as {example}:"
            " their mean over the steps of each training episode becomes a column of episodes.csv."
            " At most 20; {nested} names a number within a dictionary.",
            example="reward_forward, x_velocity",
            nested="rewards.survive",
        ),
    )
    env_check: bool = setting(
        True,
        label=Text("Check environment"),
        help=Text(
            "Test an unknown environment briefly before training: finite observations of the"
            " declared size, repeatable episodes that end."
        ),
    )
    preset: str = setting(
        "", label=Text("Preset"), help=Text("The preset these settings come from.")
    )
    seed: int = setting(
        0,
        label=Text("Seed"),
        low=0,
        high=HIGHEST_SEED,
        help=Text(
            "The same settings, seed, numerics class, compiled engine and library versions give"
            " the same run, bit for bit."
        ),
    )
    steps: int = setting(
        300_000,
        label=Text("Steps"),
        unit=Text("environment steps"),
        low=1,
        high=1e10,
        help=Text("Length of the run, including the warm-up."),
    )
    threads: int = setting(
        0,
        label=Text("Threads"),
        zero=Text("automatic"),
        low=0,
        high=1024,
        help=Text("Threads for the updates. 0 uses one fewer than there are cores to use."),
    )
    num_envs: int = setting(
        1,
        label=Text("Environments"),
        low=1,
        high=64,
        help=Text(
            "Parallel environments, stepped together: n environment steps, then the updates for"
            " these n steps. Each has its own reset seeds and noise. Evaluations, checkpoints and"
            " the end of the run come after the first joint step that reaches their step."
        ),
    )
    env_processes: int = setting(
        0,
        label=Text("Environment processes"),
        zero=Text("none"),
        low=0,
        high=64,
        help=Text(
            "Processes that step the environments in parallel: useful if cores are free and a step"
            " is slow. 0 steps them in the training thread. Results are the same either way."
        ),
    )
    update_while_stepping: bool = setting(
        False,
        label=Text("Update while stepping"),
        help=Text(
            "Do the updates of a step while a process of its own takes that step: faster if a core"
            " is free. The updates draw from the transitions before it, so the run differs from"
            " one without, and is just as repeatable."
        ),
    )
    device: str = setting(
        "cpu",
        label=Text("Device"),
        choices=("cpu", "cuda"),
        help=Text(
            "Where updates are computed. With small networks the CPU is often as fast as a GPU"
            " (cuda), which pays off with wide layers and large batches."
        ),
    )
    numerics: str = setting(
        AUTO,
        label=Text("Numerics class"),
        choices=(AUTO, *CLASSES),
        help=Text(
            "The kernels that multiply matrices. A run of class avx512 or avx2 is the same bit for"
            " bit on every processor that has these instructions; avx2 trains slower on one that"
            " also has AVX-512. auto takes the fastest class of this processor, and is replaced by"
            " its name when the run is made."
        ),
    )
    engine: str = setting(
        AUTO,
        label=Text("Engine"),
        choices=(AUTO, COMPILED, TORCH),
        help=Text(
            "What computes the updates. compiled: machine code made by Numba, several times faster"
            " for small networks. torch: also for GPUs; repeatable on the same machine only. auto"
            " takes compiled wherever Numba works."
        ),
    )
    learning_starts: int = setting(
        25_000,
        label=Text("Warm-up"),
        unit=Text("environment steps"),
        low=0,
        high=1e9,
        help=Text(
            "Steps with uniformly random actions before the first update, to fill the replay"
            " buffer."
        ),
    )
    buffer_size: int = setting(
        1_000_000,
        label=Text("Replay buffer"),
        unit=Text("transitions"),
        low=1,
        high=1e8,
        help=Text("Capacity of the replay buffer; the oldest transitions are overwritten first."),
    )
    algorithm: str = setting(
        TD3,
        label=Text("Update rule"),
        choices=tuple(ALGORITHMS),
        help=Text(
            "What trains the networks. ddpg is td3 without its three tricks, which can then not be"
            " switched on: twin_critics stays off, policy_delay 1 and policy_noise 0. tqc is td3"
            " whose critics learn the distribution of the return."
        ),
    )
    actor_hidden: tuple[int, ...] = setting(
        (256, 256),
        label=Text("Actor layers"),
        low=1,
        high=8192,
        help=Text("Widths of the actor's hidden layers, for instance 256, 256."),
    )
    critic_hidden: tuple[int, ...] = setting(
        (256, 256),
        label=Text("Critic layers"),
        low=1,
        high=8192,
        help=Text("Widths of each critic's hidden layers, for instance 256, 256."),
    )
    actor_activation: str = setting(
        "relu",
        label=Text("Actor activation"),
        choices=("relu", "tanh"),
        help=Text("Activation of the actor's hidden layers; its output layer is always tanh."),
    )
    critic_activation: str = setting(
        "relu",
        label=Text("Critic activation"),
        choices=("relu", "tanh"),
        help=Text("Activation of the critics' hidden layers."),
    )
    critic_layer_norm: bool = setting(
        False,
        label=Text("Critic layer norm"),
        help=Text(
            "Normalise the sums of each hidden layer of the critics over its units before their"
            " activation, without parameters to learn. It keeps the critics from overestimating"
            " actions they have not seen, so that more updates per step or larger rates stay"
            " stable."
        ),
    )
    twin_critics: bool = setting(
        True,
        label=Text("Twin critics"),
        help=Text(
            "Clipped double Q-learning: the target uses the smaller value of two critics. Off: a"
            " single critic, as in DDPG."
        ),
    )
    quantiles: int = setting(
        25,
        label=Text("Quantiles"),
        low=2,
        high=200,
        help=Text(
            "Outputs of each critic with algorithm tqc: quantiles of the distribution of the"
            " return. Their mean is its value."
        ),
    )
    reward_scale: float = setting(
        1.0,
        label=Text("Reward scale"),
        low=1e-6,
        high=1e6,
        help=Text(
            "The agent learns from max(scale × reward, floor). Logged returns are the"
            " environment's own; the shaped returns are logged as well."
        ),
    )
    normalize_observations: bool = setting(
        False,
        label=Text("Normalise observations"),
        help=Text(
            "Shift and scale observations to mean 0 and variance 1 with running statistics, which"
            " are saved with the agent and applied wherever it acts."
        ),
    )
    eval_interval: int = setting(
        5_000,
        label=Text("Evaluate every"),
        zero=Text("never"),
        unit=Text("environment steps"),
        low=0,
        high=1e9,
        help=Text(
            "Steps between noise-free evaluations, once learning has begun; the end of the run has"
            " one, too. 0 turns evaluation off."
        ),
    )
    eval_episodes: int = setting(
        10,
        label=Text("Evaluation episodes"),
        low=1,
        high=1000,
        help=Text("Noise-free episodes per evaluation."),
    )
    bias_interval: int = setting(
        1,
        label=Text("Overestimation every"),
        zero=Text("never"),
        unit=Text("evaluations"),
        low=0,
        high=1000,
        help=Text(
            "Evaluations between measurements of how far the critics overestimate. Their episodes"
            " are played on past a time limit for it; returns stay the same. At least 5 on a"
            " machine with one processor core."
        ),
    )
    background_evaluation: bool = setting(
        True,
        label=Text("Evaluate in background"),
        help=Text(
            "Evaluate in a separate process while training continues. Off: training waits for each"
            " evaluation. Results are the same either way."
        ),
    )
    keep_replay: bool = setting(
        True,
        label=Text("Keep replay buffer"),
        help=Text(
            "Store the replay buffer with the run, so that it can be resumed exactly. Off: a"
            " resumed run refills the buffer before it learns again."
        ),
    )
    checkpoint_interval: int = setting(
        10_000,
        label=Text("Checkpoint every"),
        zero=Text("never"),
        unit=Text("environment steps"),
        low=0,
        high=1e9,
        help=Text("Steps between checkpoints. 0 saves only the best and the last."),
    )
    keep_every: int = setting(
        1,
        label=Text("Keep every nth"),
        zero=Text("none"),
        unit=Text("checkpoints"),
        low=0,
        high=1e9,
        help=Text(
            "Keep every n-th of the regular checkpoints on disk: 1 keeps all, 0 none. The best,"
            " the last and those saved by the user are always kept."
        ),
    )
    keep_best: int = setting(
        0,
        label=Text("Keep the best"),
        zero=Text("none"),
        unit=Text("checkpoints"),
        low=0,
        high=1e9,
        help=Text(
            "Also keep this many regular checkpoints with the highest evaluation returns. No"
            " effect while all are kept."
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.env.strip():
            raise RequestError(
                "{key} is empty; name a Gymnasium environment such as Pendulum-v1.",
                key=SettingName("env"),
            )
        object.__setattr__(self, "env_args", self.choice.args)
        object.__setattr__(self, "info_columns", canonical_names(self.info_columns))

    @property
    def choice(self) -> EnvChoice:
        """The environment and its arguments."""
        return EnvChoice(self.env, self.env_args)

    @property
    def last_step(self) -> int:
        """The step the run ends at: several environments together may go beyond ``steps``."""
        return -(-self.steps // self.num_envs) * self.num_envs

    @property
    def stepping_processes(self) -> int:
        """Number of processes that step the environments; 0 steps them in the training thread."""
        return self.env_processes or int(self.update_while_stepping)

    @property
    def torch_threads(self) -> int:
        """Number of torch threads to use: ``threads``, or the default if that is 0."""
        return self.threads or default_threads()
