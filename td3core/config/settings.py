"""Every setting of a run, declared once.

The form, the validation, ``--set``, the tooltips and the README's table are all read from the
metadata declared here. :class:`RunConfig` is fixed for a run, :class:`Tunables` may change while it
learns. Neither imports torch, so the window can show its form before torch is loaded.

"The paper" is Fujimoto, van Hoof and Meger, *Addressing Function Approximation Error in
Actor-Critic Methods*, ICML 2018.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from td3core.config.env_choice import EnvChoice
from td3core.config.spec import Spec, check_fields, parse_text, setting, spec_of, type_words_of
from td3core.errors import RequestError, unknown_name


def default_threads() -> int:
    """Torch threads that leave one core to the window and the renderer (at least 1)."""
    return max(1, (os.cpu_count() or 1) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """The settings that may change while a run learns."""

    tau: float = setting(
        0.005,
        label="Target averaging",
        symbol="τ",
        low=0.0,
        high=1.0,
        shown=(1e-4, 1.0),
        scale="log",
        help="How far the three target networks move towards the learnt ones after every actor"
        " update: θ′ ← τθ + (1 − τ)θ′. Small is steady and slow; 1 removes the targets.",
    )
    exploration_noise: float = setting(
        0.1,
        label="Exploration noise",
        symbol="σ",
        unit="half action range",
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help="Standard deviation of the Gaussian added to each action taken while training:"
        " a = clip(π(s) + N(0, σ), −1, 1).",
    )
    policy_noise: float = setting(
        0.2,
        label="Policy noise",
        symbol="σ̃",
        unit="half action range",
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help="Target policy smoothing: standard deviation of the noise added to the target"
        " action, ã = clip(π′(s′) + clip(N(0, σ̃), −c, c), −1, 1). 0 switches it off.",
    )
    noise_clip: float = setting(
        0.5,
        label="Noise clip",
        symbol="c",
        unit="half action range",
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help="Bound of the smoothing noise: ã = clip(π′(s′) + clip(N(0, σ̃), −c, c), −1, 1).",
    )
    policy_delay: int = setting(
        2,
        label="Policy delay",
        symbol="d",
        unit="critic updates",
        low=1,
        high=100,
        shown=(1, 10),
        help="Delayed policy updates: the actor and all targets move once every d critic updates.",
    )
    gamma: float = setting(
        0.99,
        label="Discount",
        symbol="γ",
        low=0.0,
        high=1.0,
        shown=(0.8, 0.9999),
        scale="complement",
        help="Weight of the next state's value: y = r + γ (1 − terminated) min(Q₁′, Q₂′)(s′, ã)."
        " It looks about 1 / (1 − γ) steps ahead.",
    )
    actor_lr: float = setting(
        3e-4,
        label="Actor learning rate",
        symbol="α π",
        low=0.0,
        high=1.0,
        shown=(1e-6, 1e-2),
        scale="log",
        help="Adam step size of the actor, which climbs mean Q₁(s, π(s)).",
    )
    critic_lr: float = setting(
        3e-4,
        label="Critic learning rate",
        symbol="α Q",
        low=0.0,
        high=1.0,
        shown=(1e-6, 1e-2),
        scale="log",
        help="Adam step size of both critics, which descend (Q₁ − y)² + (Q₂ − y)².",
    )
    batch_size: int = setting(
        256,
        label="Batch size",
        symbol="N",
        unit="transitions",
        low=1,
        high=65_536,
        shown=(16, 1024),
        scale="log",
        help="Transitions sampled uniformly from the replay buffer for each update.",
    )
    updates_per_step: int = setting(
        1,
        label="Updates per step",
        low=0,
        high=64,
        shown=(0, 8),
        help="Gradient updates after every environment step once learning has started."
        " 0 collects experience without learning.",
    )
    exploration_noise_decay: float = setting(
        1.0,
        label="Noise decay",
        low=0.9,
        high=1.0,
        shown=(0.999, 1.0),
        scale="linear",
        help="σ is multiplied by this once per action taken, down to the floor below."
        " 1 keeps σ constant. Moving σ starts the decay afresh from there.",
    )
    exploration_noise_min: float = setting(
        0.0,
        label="Noise floor",
        symbol="σ min",
        unit="half action range",
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help="The decaying exploration noise never falls below this. Without effect when the"
        " decay is 1 or σ is smaller already.",
    )

    def __post_init__(self) -> None:
        check_fields(self)


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


Settings = RunConfig | Tunables


def spec(settings: Settings | type[Settings], name: str) -> Spec:
    """Return what is known about the setting ``name``."""
    for item in fields(settings):
        if item.name == name:
            return spec_of(item)
    raise KeyError(name)


def specs(settings: Settings | type[Settings]) -> Iterator[tuple[str, Spec]]:
    """Yield name and metadata of every setting, in the order of declaration."""
    for item in fields(settings):
        yield item.name, spec_of(item)


def default(name: str) -> Any:
    """Return the default value of the setting ``name`` (``None`` if it has to be given)."""
    value = _all_fields()[name].default
    return None if value is MISSING else value


def changes(old: Tunables, new: Tunables) -> list[tuple[str, Any, Any]]:
    """Return (name, old value, new value) of every setting that differs."""
    pairs = ((name, getattr(old, name), getattr(new, name)) for name, _ in specs(old))
    return [(name, before, after) for name, before, after in pairs if before != after]


def make_settings(values: Mapping[str, Any]) -> tuple[RunConfig, Tunables]:
    """Sort flat ``values`` into a configuration and its tunables; every one is checked.

    Raises:
        RequestError: a name is unknown, or a value has the wrong type or is out of range.
    """
    live = {name for name, _ in specs(Tunables)}
    for name in values:
        if name not in _all_fields():
            raise unknown_name("setting", name, list(_all_fields()))
    if "env" not in values:
        raise RequestError("env is missing; name a Gymnasium environment such as Pendulum-v1.")
    config = RunConfig(**{k: v for k, v in values.items() if k not in live})
    return config, Tunables(**{k: v for k, v in values.items() if k in live})


def check_together(config: RunConfig, tunables: Tunables) -> None:
    """Refuse combinations of settings that are each allowed but make no sense together.

    Asked before a run starts and before a live change; never of a file, which has to open.
    """
    if tunables.batch_size > config.buffer_size:
        raise RequestError(
            f"batch_size {tunables.batch_size} is larger than buffer_size {config.buffer_size}."
        )
    if config.env_processes > config.num_envs:
        raise RequestError(
            f"env_processes {config.env_processes} is larger than num_envs {config.num_envs}; each"
            " process needs an environment to step."
        )
    for name, why in (
        ("buffer_size", "one step of all would overwrite its own transitions"),
        ("steps", "one step of all would be longer than the run"),
    ):
        if config.num_envs > getattr(config, name):
            raise RequestError(
                f"num_envs {config.num_envs} is larger than {name} {getattr(config, name)}; {why}."
            )


def to_dict(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain values that JSON and TOML can hold (tuples become lists)."""
    values = {item.name: getattr(settings, item.name) for item in fields(settings)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def parse_value(name: str, text: str) -> Any:
    """Turn the text of ``--set name=text`` or of a form into a value of the setting's type.

    Raises:
        RequestError: the name is unknown or the text is not a value of its type.
    """
    if name not in _all_fields():
        raise unknown_name("setting", name, list(_all_fields()))
    return parse_text(_all_fields()[name], text)


def type_words(name: str) -> str:
    """Say in words what the setting ``name`` takes, with its range."""
    return type_words_of(_all_fields()[name])


def _all_fields() -> dict[str, Field[Any]]:
    return {item.name: item for cls in (RunConfig, Tunables) for item in fields(cls)}
