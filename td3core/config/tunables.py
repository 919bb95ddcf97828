"""The settings that may change while a run learns.

"The paper" is Fujimoto, van Hoof and Meger, *Addressing Function Approximation Error in
Actor-Critic Methods*, ICML 2018.
"""

from dataclasses import dataclass

from td3core.config import piecewise
from td3core.config.spec import check_fields, setting, setting_fields
from td3core.text import Text

NO_FLOOR = -1e9
"""The lowest ``reward_floor``, which means no floor. Lower rewards are stored as this value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """The settings that may change while a run learns; a change takes effect between two steps.

    A numeric setting may be given a schedule as text: it is kept in ``schedules``, and the setting
    holds its first value.
    """

    tau: float = setting(
        0.005,
        label=Text("Target averaging"),
        symbol="τ",
        low=0.0,
        high=1.0,
        shown=(1e-4, 1.0),
        scale="log",
        help=Text(
            "How far the target networks move towards the online networks at each actor update: θ′"
            " ← τθ + (1 − τ)θ′. Small values are stable but slow; 1 copies the networks."
        ),
    )
    exploration_noise: float = setting(
        0.1,
        label=Text("Exploration noise"),
        symbol="σ",
        unit=Text("half action range"),
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help=Text(
            "Standard deviation of the Gaussian noise added to each training action: a = clip(π(s)"
            " + N(0, σ), −1, 1)."
        ),
    )
    policy_noise: float = setting(
        0.2,
        label=Text("Policy noise"),
        symbol="σ̃",
        unit=Text("half action range"),
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help=Text(
            "Target policy smoothing: standard deviation of the noise added to the target action,"
            " ã = clip(π′(s′) + clip(N(0, σ̃), −c, c), −1, 1). 0 turns it off."
        ),
    )
    noise_clip: float = setting(
        0.5,
        label=Text("Noise clip"),
        symbol="c",
        unit=Text("half action range"),
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help=Text(
            "Bound of the target smoothing noise: ã = clip(π′(s′) + clip(N(0, σ̃), −c, c), −1, 1)."
        ),
    )
    policy_delay: int = setting(
        2,
        label=Text("Policy delay"),
        symbol="d",
        unit=Text("critic updates"),
        low=1,
        high=100,
        shown=(1, 10),
        help=Text(
            "Delayed policy updates: actor and targets are updated once every d critic updates."
        ),
    )
    gamma: float = setting(
        0.99,
        label=Text("Discount"),
        symbol="γ",
        low=0.0,
        high=1.0,
        shown=(0.8, 0.9999),
        scale="complement",
        help=Text(
            "Weight of the next state's value: y = r + γ (1 − terminated) min(Q₁′, Q₂′)(s′, ã);"
            " with TQC each quantile that is kept takes the place of the minimum. The horizon is"
            " about 1 / (1 − γ) steps."
        ),
    )
    actor_lr: float = setting(
        3e-4,
        label=Text("Actor learning rate"),
        symbol="α π",
        low=0.0,
        high=1.0,
        shown=(1e-6, 1e-2),
        scale="log",
        help=Text(
            "Adam step size of the actor, which maximises the mean of Q₁(s, π(s)), with TQC that"
            " of all quantiles of both critics, less the action penalty if there is one."
        ),
    )
    critic_lr: float = setting(
        3e-4,
        label=Text("Critic learning rate"),
        symbol="α Q",
        low=0.0,
        high=1.0,
        shown=(1e-6, 1e-2),
        scale="log",
        help=Text(
            "Adam step size of both critics, which minimise (Q₁ − y)² + (Q₂ − y)²; with TQC the"
            " quantile Huber loss."
        ),
    )
    batch_size: int = setting(
        256,
        label=Text("Batch size"),
        symbol="N",
        unit=Text("transitions"),
        low=1,
        high=65_536,
        shown=(16, 1024),
        scale="log",
        help=Text("Transitions sampled uniformly from the replay buffer for each update."),
    )
    updates_per_step: int = setting(
        1,
        label=Text("Updates per step"),
        low=0,
        high=64,
        shown=(0, 8),
        help=Text(
            "Gradient updates per environment step (see Update interval) once learning has"
            " started. 0 collects transitions without learning."
        ),
    )
    update_interval: int = setting(
        1,
        label=Text("Update interval"),
        unit=Text("environment steps"),
        low=1,
        high=1000,
        shown=(1, 16),
        help=Text(
            "Environment steps between updates. Where a step is much cheaper than an update, more"
            " steps per update can learn sooner by the clock. The paper updates after every step."
        ),
    )
    n_step: int = setting(
        1,
        label=Text("Multi-step returns"),
        symbol="n",
        unit=Text("environment steps"),
        low=1,
        high=100,
        shown=(1, 10),
        help=Text(
            "Rewards summed before the target bootstraps: y = r₁ + γ r₂ + … + γⁿ Q′(sₙ, ã), cut at"
            " the end of an episode (Sutton and Barto, 2018, chapter 7; used off-policy without"
            " correction, as in D4PG). The paper uses 1."
        ),
    )
    dropped_quantiles: int = setting(
        2,
        label=Text("Dropped quantiles"),
        symbol="d",
        low=0,
        high=199,
        shown=(0, 10),
        help=Text(
            "With algorithm tqc: the largest quantiles per critic that the target leaves out"
            " of the mixture of both critics. More of them expect less of the future."
        ),
    )
    noise_correlation: float = setting(
        0.0,
        label=Text("Noise correlation"),
        symbol="ρ",
        low=0.0,
        high=0.999,
        shown=(0.0, 0.99),
        help=Text(
            "Correlation of the exploration noise from one step to the next, in an episode: nₜ = ρ"
            " nₜ₋₁ + √(1 − ρ²) εₜ with ε ~ N(0, σ), so that σ stays the same. Near 1 it pushes one"
            " way for about 1 / (1 − ρ) steps, which helps where many small pushes cancel out"
            " (Eberhard et al., 2023). The paper uses 0: white noise."
        ),
    )
    exploration_noise_decay: float = setting(
        1.0,
        label=Text("Noise decay"),
        low=0.9,
        high=1.0,
        shown=(0.999, 1.0),
        scale="linear",
        help=Text(
            "σ is multiplied by this once per action, down to the noise floor. 1 keeps σ constant."
            " Changing σ restarts the decay from the new value."
        ),
    )
    exploration_noise_min: float = setting(
        0.0,
        label=Text("Noise floor"),
        symbol="σ min",
        unit=Text("half action range"),
        low=0.0,
        high=2.0,
        shown=(0.0, 1.0),
        help=Text(
            "Lower bound of the decaying exploration noise. No effect if the decay is 1 or σ is"
            " already smaller."
        ),
    )
    action_penalty: float = setting(
        0.0,
        label=Text("Action penalty"),
        symbol="λ",
        low=0.0,
        high=1e6,
        shown=(0.0, 2.0),
        help=Text(
            "The actor minimises −mean Q₁(s, π(s)) + λ mean π(s)², the mean over the batch and the"
            " action's dimensions in [−1, 1]; with TQC Q₁ is the mean of all quantiles. Actions are"
            " drawn to the middle of their bounds, and do not get stuck at them, where tanh has no"
            " gradient (action_l2 of OpenAI Baselines' HER is 1). The paper uses 0."
        ),
    )
    reward_floor: float = setting(
        NO_FLOOR,
        label=Text("Reward floor"),
        low=NO_FLOOR,
        high=1e9,
        shown=(-100.0, 0.0),
        lowest=Text("off"),
        help=Text(
            "Lower bound of the scaled reward, from which the agent learns; softens a penalty for"
            " falling. A change applies to what is in the replay buffer, too. The default has no"
            " effect."
        ),
    )

    schedules: tuple[tuple[str, str], ...] = ()
    """Names of the settings that follow a schedule, each with its text (see
    :mod:`td3core.config.piecewise`). Their fields above hold the current values."""

    def __post_init__(self) -> None:
        found, known = dict(self.schedules), {item.name: item for item in setting_fields(self)}
        for name, item in known.items():
            value = getattr(self, name)
            if piecewise.is_schedule(item, value):
                schedule = piecewise.parse(item, value)
                found[name] = schedule.text
                object.__setattr__(self, name, schedule.values[0])
        check_fields(self)
        texts = (
            (name, piecewise.parse(known[name], found[name]).text) for name in known & found.keys()
        )
        object.__setattr__(self, "schedules", tuple(sorted(texts)))
