"""The boxes of the picture: positions, equations, and descriptions in two sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from td3core.config import RunConfig
from td3core.config.algorithms import TQC
from td3core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One step of the update or one network."""

    name: str
    """Its widget is named ``algorithm_<name>``."""
    title: Text
    equation: Text
    about: Text
    """Two sentences."""
    row: int
    left: float
    """Its left edge, in columns from 0 to 3."""
    right: float
    half: int | None = None
    """0 or 1 for the left or right half of that place, for a pair of critics."""
    network: str = ""
    """The network's name in a checkpoint; empty for a step."""


BOXES = (
    Box(
        name="act",
        title=Text("1 Act"),
        equation=Text("a = clip(π(s) + N(0, σ), −1, 1)"),
        about=Text(
            "The actor chooses an action, and noise of standard deviation σ explores around it."
            " Until the warm-up ends, actions are drawn uniformly instead."
        ),
        row=0,
        left=0,
        right=1,
    ),
    Box(
        name="store",
        title=Text("2 Store"),
        equation=Text("(s, a, r, s′, terminated) → D"),
        about=Text(
            "The transition goes into the replay buffer, the oldest one makes room. A time limit"
            " does not count as terminated: the next state still has a value, which is"
            " bootstrapped."
        ),
        row=0,
        left=1,
        right=2,
    ),
    Box(
        name="sample",
        title=Text("3 Sample"),
        equation=Text("N transitions ~ U(D)"),
        about=Text(
            "A batch of N transitions is drawn uniformly from the replay buffer. Old and new"
            " experience are mixed, which makes the batch less correlated than the last steps are."
        ),
        row=0,
        left=2,
        right=3,
    ),
    Box(
        name="actor_target",
        title=Text("4 Target π′"),
        equation=Text("π′(s′)"),
        about=Text(
            "The slow copy of the actor answers the next state s′. Because it lags behind, the"
            " target y does not jump with every step of the actor."
        ),
        row=1,
        left=2,
        right=3,
        network="actor_target",
    ),
    Box(
        name="smooth",
        title=Text("5 Smooth"),
        equation=Text("ã = clip(π′(s′) + clip(N(0, σ̃), −c, c), −1, 1)"),
        about=Text(
            "Target policy smoothing: clipped noise makes similar actions have similar values."
            " Narrow peaks of the critics, which are mostly errors, are averaged away."
        ),
        row=1,
        left=1,
        right=2,
    ),
    Box(
        name="critic1_target",
        title=Text("6 Target Q₁′"),
        equation=Text("Q₁′(s′, ã)"),
        about=Text(
            "The slow copy of the first critic values the smoothed action in the next state. It"
            " moves only when the targets are averaged."
        ),
        row=2,
        left=0,
        right=2,
        half=0,
        network="critic1_target",
    ),
    Box(
        name="critic2_target",
        title=Text("6 Target Q₂′"),
        equation=Text("Q₂′(s′, ã)"),
        about=Text(
            "The slow copy of the second critic values the same action. It began with other weights"
            " and so errs in other places than the first."
        ),
        row=2,
        left=0,
        right=2,
        half=1,
        network="critic2_target",
    ),
    Box(
        name="minimum",
        title=Text("7 Minimum"),
        equation=Text("min(Q₁′(s′, ã), Q₂′(s′, ã))"),
        about=Text(
            "Clipped double Q-learning: the smaller of both values is used for each transition. An"
            " overestimate then has to be made by both critics to get into the target."
        ),
        row=2,
        left=2,
        right=3,
    ),
    Box(
        name="average",
        title=Text("12 Average targets"),
        equation=Text("θ′ ← τ θ + (1 − τ) θ′"),
        about=Text(
            "All three targets move a small step τ towards their networks. This is done with the"
            " actor's step, so the delay slows the targets down as well."
        ),
        row=3,
        left=0.35,
        right=1.65,
    ),
    Box(
        name="y",
        title=Text("8 Target y"),
        equation=Text("y = r + γ (1 − terminated) min(Q₁′, Q₂′)"),
        about=Text(
            "The value that both critics are to learn: the reward, and what the next state is worth"
            " discounted by γ. No gradient flows through it."
        ),
        row=3,
        left=2,
        right=3,
    ),
    Box(
        name="critic1",
        title=Text("Critic Q₁"),
        equation=Text("Q₁(s, a)"),
        about=Text(
            "The first critic values the stored action in the stored state. It is also the one that"
            " the actor climbs."
        ),
        row=4,
        left=0,
        right=2,
        half=0,
        network="critic1",
    ),
    Box(
        name="critic2",
        title=Text("Critic Q₂"),
        equation=Text("Q₂(s, a)"),
        about=Text(
            "The second critic learns the same target from other first weights. It is needed for"
            " the minimum alone; the actor never sees it."
        ),
        row=4,
        left=0,
        right=2,
        half=1,
        network="critic2",
    ),
    Box(
        name="losses",
        title=Text("9 Critic losses"),
        equation=Text("L₁ = mean (Q₁(s, a) − y)²,  L₂ = mean (Q₂(s, a) − y)²"),
        about=Text(
            "The mean squared distance of each critic to the target. It need not fall as the agent"
            " gets better, because the values themselves grow."
        ),
        row=4,
        left=2,
        right=3,
    ),
    Box(
        name="actor",
        title=Text("Actor π"),
        equation=Text("π(s) = tanh(f(s; φ))"),
        about=Text(
            "The actor maps a state to an action between −1 and 1. It is what is saved, replayed"
            " and exported in the end."
        ),
        row=5,
        left=0,
        right=1,
        network="actor",
    ),
    Box(
        name="actor_step",
        title=Text("11 Actor step"),
        equation=Text("L = −mean Q₁(s, π(s)), every d-th update"),
        about=Text(
            "The actor climbs the first critic. Delayed: it moves with every d-th update only, so"
            " that it follows a critic which has had time to learn."
        ),
        row=5,
        left=1,
        right=2,
    ),
    Box(
        name="critic_step",
        title=Text("10 Critic step"),
        equation=Text("Adam on L₁ + L₂"),
        about=Text(
            "One step of Adam with the critics' learning rate, on the sum of both losses. Both"
            " critics move with every update."
        ),
        row=5,
        left=2,
        right=3,
    ),
)
"""In keyboard order: row by row."""

ROWS = 6


def boxes_of(algorithm: str) -> Mapping[str, Box]:
    """Return the boxes by name, with their descriptions for this algorithm."""
    boxes = {box.name: box for box in BOXES}
    return boxes | _OF_TQC if algorithm == TQC else boxes


def climbed_critics(config: RunConfig | None) -> tuple[str, ...]:
    """Return the names of the critics whose values the actor maximises."""
    if config is not None and config.algorithm == TQC and config.twin_critics:
        return "critic1", "critic2"
    return ("critic1",)


def _other(name: str, equation: Text, about: Text, title: Text | None = None) -> Box:
    (box,) = (each for each in BOXES if each.name == name)
    return replace(box, equation=equation, about=about, title=title or box.title)


_CHANGED = (
    _other(
        "critic1_target",
        Text("Z1′(s′, ã)"),
        Text(
            "The slow copy of the first critic puts out quantiles of the return in the next state;"
            " the number here is their mean. It moves only when the targets are averaged."
        ),
    ),
    _other(
        "critic2_target",
        Text("Z2′(s′, ã)"),
        Text(
            "The slow copy of the second critic puts out quantiles of the same return. It began"
            " with other weights and so errs in other places than the first."
        ),
    ),
    _other(
        "minimum",
        Text("z = sort(Z1′ ∪ Z2′), without the largest"),
        Text(
            "The quantiles of both critics are sorted together, and the largest ones are left out."
            " An overestimate shows there first, and truncation can be tuned more finely than"
            " TD3's minimum."
        ),
        title=Text("7 Truncate"),
    ),
    _other(
        "y",
        Text("yᵢ = r + γ (1 − terminated) zᵢ"),
        Text(
            "The values that all quantiles of both critics are to learn: the reward, and each of"
            " the quantiles that are kept, discounted by γ. The number here is their mean."
        ),
    ),
    _other(
        "critic1",
        Text("Z1(s, a)"),
        Text(
            "The first critic puts out quantiles of the return of the stored action in the stored"
            " state; the number here is their mean. The actor climbs the means of both critics."
        ),
    ),
    _other(
        "critic2",
        Text("Z2(s, a)"),
        Text(
            "The second critic learns the same targets from other first weights. Unlike in TD3 the"
            " actor climbs it, too."
        ),
    ),
    _other(
        "losses",
        Text("L = mean |τ − 1{u < 0}| Huber(u)"),
        Text(
            "The quantile Huber loss of u = yᵢ − Z(s, a): each output of a critic goes to the"
            " quantile τ of the targets. Like the squared error of TD3 it need not fall as the"
            " agent gets better."
        ),
    ),
    _other(
        "actor_step",
        Text("L = −mean Z(s, π(s)), every d-th update"),
        Text(
            "The actor climbs the mean of all quantiles of both critics. Delayed: it moves with"
            " every d-th update only, so that it follows critics which have had time to learn."
        ),
    ),
)
_OF_TQC = {box.name: box for box in _CHANGED}
