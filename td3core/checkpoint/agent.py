"""Agents that play episodes, and facts about them, from checkpoints."""

from td3core.checkpoint.header import Checkpoint, Header
from td3core.evaluation.bundled import bundled_evaluation
from td3core.evaluation.overestimation import ValueNetworks
from td3core.inference.critic import Critic
from td3core.playing.compared import AgentFacts, ComparedAgent
from td3core.playing.disturbance import Variant, noise_of
from td3core.playing.numbers import AgentSpec
from td3core.playing.playback import Agent


def agent_of(source: Checkpoint, variant: Variant = Variant.PLAIN) -> Agent:
    """Return the agent of a checkpoint, ready to play episodes."""
    header = source.header
    return Agent(
        choice=header.choice,
        policy=source.policy(),
        variant=variant,
        noise=noise_of(header.tunables, header.counters.exploration_noise),
        noise_correlation=header.tunables.noise_correlation,
    )


def facts_of(compared: ComparedAgent, header: Header, run: str) -> AgentFacts:
    """Return the facts shown about an agent in a comparison; ``run`` is the name of its run."""
    noisy = compared.variant is Variant.NOISE
    left = header.counters.exploration_noise
    result = bundled_evaluation(compared.path) or header.evaluation
    return AgentFacts(
        agent=compared,
        env_steps=header.counters.env_steps,
        mean_return=result.mean if result else None,
        noise=noise_of(header.tunables, left) if noisy else 0.0,
        run=run,
    )


def value_networks(source: Checkpoint) -> ValueNetworks | None:
    """Return the critics of an agent with the settings of their targets; None without critics."""
    critic, header = source.critic(), source.header
    if critic is None:
        return None
    return ValueNetworks(
        critic=critic,
        target=source.target_critic(),
        gamma=header.tunables.gamma,
        reward_scale=header.config.reward_scale,
        reward_floor=header.tunables.reward_floor,
    )


def spec_of(header: Header, critic: Critic | None) -> AgentSpec:
    """Return the settings needed to interpret an agent's numbers; ``critic``: from the file."""
    return AgentSpec(
        obs_dim=header.env.obs_dim,
        action_low=header.env.action_low,
        action_high=header.env.action_high,
        gamma=header.tunables.gamma,
        reward_scale=header.config.reward_scale,
        reward_floor=header.tunables.reward_floor,
        critics=0 if critic is None else critic.count,
    )
