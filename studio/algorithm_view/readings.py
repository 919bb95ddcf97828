"""The text of each box for one update, and which tricks of TD3 are switched off."""

from collections.abc import Mapping
from dataclasses import dataclass

from studio.formatting import format_count, format_number, format_share, format_tick
from td3core.arrays import Doubles
from td3core.config import RunConfig, Tunables
from td3core.config.algorithms import TQC
from td3core.protocol.events import Traced
from td3core.text import Text, tr

_SHOWN = 2
"""Dimensions of a vector that fit into a box."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Two short lines of a box; either may be empty."""

    value: str = ""
    note: str = ""


def switched_off(config: RunConfig | None, tunables: Tunables | None) -> dict[str, str]:
    """Return why boxes have no effect in this run, by box; without a run all tricks are on."""
    found: dict[str, str] = {}
    truncates = config is not None and config.algorithm == TQC
    if config is not None and not config.twin_critics:
        one = tr("off: one critic")
        found |= {"critic2": one, "critic2_target": one}
        if not truncates:
            found["minimum"] = tr("off: Q₁′ as it is")
    if truncates and tunables is not None and tunables.dropped_quantiles == 0:
        found["minimum"] = tr("off: all are kept")
    if tunables is not None and tunables.policy_noise == 0.0:
        found["smooth"] = tr("off: ã = π′(s′)")
    return found


def is_delayed(tunables: Tunables | None) -> bool:
    """Return whether the actor waits for several updates of the critics."""
    return tunables is None or tunables.policy_delay > 1


def readings(seen: Traced, exploration_noise: float, algorithm: str) -> dict[str, Reading]:
    """Return the contents of boxes for an update, by box."""
    live = seen.tunables
    found = {
        "act": Reading(f"σ {format_tick(exploration_noise)}"),
        "store": Reading("s, a, r, s′"),
        "sample": Reading(f"N {format_count(live.batch_size)}"),
        "actor_target": Reading(vector(seen.target_policy)),
        "smooth": Reading(vector(seen.next_action), f"|ε| {format_tick(seen.noise)}"),
        "minimum": Reading(format_number(seen.target_min), _beside_minimum(seen, algorithm)),
        "y": Reading(format_number(seen.y), f"r {format_tick(seen.reward)}, γ {live.gamma:g}"),
        "critic_step": Reading(tr("rate {rate}", rate=format_tick(live.critic_lr))),
        "actor": Reading(vector(seen.policy) if len(seen.policy) else ""),
        **_of_critics(seen),
        **_of_delay(seen),
    }
    for change in seen.changes:
        share = change.step / change.weight if change.weight else 0.0
        note = f"Δ {100.0 * share:.2g} %" if change.step else tr("unchanged")
        found[change.network] = Reading(found.get(change.network, Reading()).value, note)
    return found


def _beside_minimum(seen: Traced, algorithm: str) -> str:
    if algorithm == TQC:
        everything = sum(seen.target_q) / len(seen.target_q)
        return tr("all: {mean}", mean=format_number(everything))
    return tr("Q₁′ in {share}", share=format_share(seen.first_smaller))


def _of_critics(seen: Traced) -> Mapping[str, Reading]:
    found = {}
    for i, (ahead, now) in enumerate(zip(seen.target_q, seen.q, strict=True), start=1):
        found[f"critic{i}_target"] = Reading(format_number(ahead))
        found[f"critic{i}"] = Reading(format_number(now))
    losses = [f"L{i} {format_tick(x)}" for i, x in zip("₁₂", seen.critic_loss, strict=False)]
    return found | {"losses": Reading(losses[0], losses[1] if len(losses) > 1 else "")}


def _of_delay(seen: Traced) -> Mapping[str, Reading]:
    delay = seen.tunables.policy_delay
    every = tr("every {n} updates", n=delay) if delay > 1 else tr("no delay")
    tau = f"τ {format_tick(seen.tunables.tau)}"
    if seen.actor_loss is not None:
        loss = f"L {format_number(seen.actor_loss)}"
        return {"actor_step": Reading(loss, every), "average": Reading(tau, tr("done"))}
    left = delay - seen.updates % delay
    waits = str(Text.counted("in {n} update", "in {n} updates", n=left))
    return {"actor_step": Reading(waits, every), "average": Reading(tau, waits)}


def arrow_labels(seen: Traced, algorithm: str) -> dict[str, str]:
    """Return the labels of the arrows, by name."""
    smallest = "min" if len(seen.target_q) > 1 else "Q₁′"
    if algorithm == TQC:
        smallest = "z"
    losses = " + ".join(format_tick(each) for each in seen.critic_loss)
    return {
        "next_obs": f"s′ {vector(seen.next_obs)}",
        "next_action": f"ã {vector(seen.next_action)}",
        "minimum": f"{smallest} {format_number(seen.target_min)}",
        "y": f"y {format_number(seen.y)}",
        "losses": f"L {losses}",
        "reward": "r",
    }


def vector(values: Doubles, most: int = _SHOWN) -> str:
    """Format the first dimensions of a vector, such as ``−0.12  0.93 …`` if it has more."""
    text = "  ".join(format_tick(round(float(value), 2) + 0.0) for value in values[:most])
    return f"{text} …" if len(values) > most else text


def details(name: str, seen: Traced, algorithm: str) -> str:
    """Return all details of a box in words, for the text next to the picture."""
    vectors = {
        "sample": [("s", seen.obs), ("a", seen.action), ("s′", seen.next_obs)],
        "actor_target": [("π′(s′)", seen.target_policy)],
        "smooth": [("ã", seen.next_action)],
        "actor": [("π(s)", seen.policy)],
    }
    parts = [f"{what} = ({vector(v, 8)})" for what, v in vectors.get(name, []) if len(v)]
    if name == "smooth":
        clipped = format_share(seen.noise_clipped)
        parts.append(tr("{share} of the noise was clipped", share=clipped))
    if name == "minimum" and algorithm == TQC:
        dropped = seen.tunables.dropped_quantiles * len(seen.target_q)
        parts.append(tr("the largest {n} left out", n=dropped))
        parts.append(tr("{share} of the others are Q₁′", share=format_share(seen.first_smaller)))
    if name == "y" and seen.terminated:
        parts.append(tr("{share} terminated", share=format_share(seen.terminated)))
    if name == "actor_step" and seen.tunables.action_penalty:
        penalty = format_tick(seen.tunables.action_penalty)
        parts.append(tr("and λ mean π(s)² with λ = {penalty}, not in L", penalty=penalty))
    for change in seen.changes:
        if change.network == name:
            step, weight = format_tick(change.step), format_number(change.weight)
            parts.append(f"‖Δθ‖ = {step},  ‖θ‖ = {weight}")
    return ",  ".join(parts)
