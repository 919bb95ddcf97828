"""The zip of stable-baselines3: acts as its own predict, keeps what it learnt, and goes on."""

import base64
import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from td3core import checkpoint
from td3core.checkpoint import Checkpoint
from td3core.checkpoint.agent import spec_of
from td3core.checkpoint.resumable import require_resumable
from td3core.config import EnvChoice, Tunables
from td3core.errors import RequestError
from td3core.evaluation.evaluate import evaluate
from td3core.exporters import stable_baselines3_zip
from td3core.importers import registry
from td3core.importers.conversion import checkpoint_of
from td3core.importers.foreign import ForeignAgent
from td3core.playing.numbers import in_bounds
from td3core.randomness import Purpose, episode_seed
from tests.td3core.exporters.actors import trained
from tests.td3core.importers import foreign_files as files

AGENTS = ("td3", "tanh", "ddpg", "sac")
HALF = 2.0
"""Half the range of a pendulum's torque."""


def read(path: Path) -> ForeignAgent:
    found = registry.read(path)
    assert isinstance(found, ForeignAgent)
    return found


def converted(path: Path) -> Checkpoint:
    return checkpoint_of(read(path), files.pendulum())


def notes_of(agent: Checkpoint) -> list[str]:
    assert agent.header.origin is not None
    return [str(note) for note in agent.header.origin.notes]


def model_of(path: Path) -> Any:
    import stable_baselines3

    kind = {"sac": "SAC", "ddpg": "DDPG"}.get(path.stem, "TD3")
    return getattr(stable_baselines3, kind).load(path, device="cpu")


@pytest.mark.parametrize("kind", AGENTS)
def test_its_actions_are_those_that_the_peer_predicts(kind: str, peers: dict[str, Path]) -> None:
    agent, obs = converted(peers[kind]), files.observations()
    expected, _ = model_of(peers[kind]).predict(obs, deterministic=True)
    found = in_bounds(agent.policy()(obs), spec_of(agent.header, None))
    assert np.abs(found - expected).max() <= 1e-6 * HALF
    assert np.ptp(expected) > 0.01


@pytest.mark.parametrize("kind", AGENTS)
def test_its_episodes_return_what_those_of_the_peer_do(kind: str, peers: dict[str, Path]) -> None:
    agent, model = converted(peers[kind]), model_of(peers[kind])
    ours = evaluate(agent.policy(), EnvChoice("Pendulum-v1"), episodes=3, seed=11)
    assert ours is not None
    with gym.make("Pendulum-v1") as env:
        for episode, total in enumerate(ours.returns):
            obs, _ = env.reset(seed=episode_seed(11, Purpose.EVALUATION, episode))
            theirs, over = 0.0, False
            while not over:
                action, _ = model.predict(obs, deterministic=True)
                obs, reward, terminated, truncated, _ = env.step(action)
                theirs, over = theirs + float(reward), terminated or truncated
            assert total == pytest.approx(theirs, abs=1e-3)


@pytest.mark.parametrize("kind", ["td3", "tanh", "ddpg"])
def test_every_network_and_moment_is_the_one_that_torch_reads(
    kind: str, peers: dict[str, Path]
) -> None:
    agent, parts = converted(peers[kind]), files.members(peers[kind])
    policy = files.tensors_of(parts["policy.pth"])
    ours = agent.tensors
    twins = ("critic1", "critic2")[: len(agent.header.networks["critic"].names)]
    named = {"actor": "actor.mu", "actor_target": "actor_target.mu"}
    named |= {name: f"critic.qf{at}" for at, name in enumerate(twins)}
    named |= {f"{name}_target": f"critic_target.qf{at}" for at, name in enumerate(twins)}
    for name, theirs in named.items():
        for layer in range(3 if name.startswith("critic") or kind != "ddpg" else 2):
            for part in ("weight", "bias"):
                expected = policy.pop(f"{theirs}.{2 * layer}.{part}").numpy()
                assert np.array_equal(ours[f"{name}.{layer}.{part}"], expected)
    assert not policy
    for role, networks in (("actor", ("actor",)), ("critic", twins)):
        state = files.tensors_of(parts[f"{role}.optimizer.pth"])["state"]
        names = [key for name in networks for key in ours if key.startswith(f"{name}.")]
        assert len(names) == len(state)
        for name, found in zip(names, state.values(), strict=True):
            assert ours[f"{role}_adam.step"][0] == float(found["step"])
            for moment in ("exp_avg", "exp_avg_sq"):
                assert np.array_equal(ours[f"{role}_adam.{name}.{moment}"], found[moment].numpy())
                assert found[moment].any()


def test_it_keeps_settings_counters_and_origin(peers: dict[str, Path]) -> None:
    agent = converted(peers["tanh"])
    header = agent.header
    config, tunables, counters = header.config, header.tunables, header.counters
    assert (config.actor_hidden, config.critic_hidden) == ((32, 24), (32, 24))
    assert (config.actor_activation, config.critic_activation) == ("tanh", "tanh")
    assert (config.learning_starts, config.buffer_size, config.seed) == (40, 10_000, 3)
    assert (tunables.gamma, tunables.tau, tunables.policy_delay) == (0.97, 0.01, 3)
    assert (tunables.actor_lr, tunables.critic_lr, tunables.batch_size) == (5e-4, 5e-4, 16)
    assert (tunables.update_interval, tunables.updates_per_step) == (2, 2)
    assert tunables.exploration_noise == pytest.approx(0.3)
    assert counters.env_steps == 60
    assert counters.updates == model_of(peers["tanh"])._n_updates > 0
    assert counters.sampled == 16 * counters.updates
    assert header.origin is not None
    assert header.origin.kind == "stable-baselines3 TD3"
    assert header.origin.sha256 == hashlib.sha256(peers["tanh"].read_bytes()).hexdigest()


def test_ddpg_is_a_td3_without_its_tricks(peers: dict[str, Path]) -> None:
    header = converted(peers["ddpg"]).header
    assert not header.config.twin_critics
    assert (header.tunables.policy_delay, header.tunables.policy_noise) == (1, 0.0)
    assert (header.config.actor_hidden, header.config.critic_hidden) == ((16,), (24, 8))
    assert header.origin is not None
    assert header.origin.kind == "stable-baselines3 DDPG"


def test_the_file_survives_saving_with_its_origin(peers: dict[str, Path], tmp_path: Path) -> None:
    agent, path = converted(peers["td3"]), tmp_path / "agent.safetensors"
    checkpoint.save(path, agent.header, agent.tensors)
    found = checkpoint.load(path)
    assert found.header.origin == agent.header.origin
    require_resumable(path.name, found)


def test_the_mean_of_sac_can_be_watched_but_not_trained_on(
    peers: dict[str, Path], tmp_path: Path
) -> None:
    agent, path = converted(peers["sac"]), tmp_path / "agent.safetensors"
    assert agent.critic() is None
    checkpoint.save(path, agent.header, agent.tensors)
    with pytest.raises(RequestError, match="not continue training"):
        require_resumable(path.name, checkpoint.load(path))


@pytest.mark.parametrize("kind", ["relu", "tanh", "one_critic", "repeated"])
def test_an_export_comes_back_as_it_was(runs_dir: Path, tmp_path: Path, kind: str) -> None:
    source, target = trained(runs_dir, kind), tmp_path / "agent.zip"
    stable_baselines3_zip.export(source, target)
    before, foreign = checkpoint.load(source), read(target)
    assert foreign.env is not None
    choice = before.header.env.choice
    assert foreign.env.kwargs == choice.kwargs
    assert (foreign.env.env_id, foreign.env.action_repeat) == (choice.env_id, choice.action_repeat)
    after = checkpoint_of(foreign, before.header.env)
    networks = [
        name
        for name in before.tensors
        if name.startswith(("actor", "critic")) and not name.startswith(("actor_lr", "critic_lr"))
    ]
    for name in networks:
        assert np.array_equal(after.tensors[name], before.tensors[name]), name
    for name in ("gamma", "tau", "policy_delay", "exploration_noise", "actor_lr", "n_step"):
        assert getattr(after.header.tunables, name) == getattr(before.header.tunables, name)
    assert after.header.counters.env_steps == before.header.counters.env_steps


def test_a_learning_rate_that_followed_a_schedule_stays_at_its_last(
    peers: dict[str, Path], tmp_path: Path
) -> None:
    path = files.with_data(
        peers["td3"], tmp_path / "a.zip", learning_rate={":type:": "function", ":serialized:": ""}
    )
    header = converted(path).header
    assert header.tunables.actor_lr == pytest.approx(1e-3)
    assert header.origin is not None
    assert any("schedule" in str(note) for note in header.origin.notes)


@pytest.mark.parametrize("lack", ["missing", "other steps"])
def test_without_optimisers_their_moments_are_zero_and_it_is_said(
    peers: dict[str, Path], tmp_path: Path, lack: str
) -> None:
    parts = files.members(peers["td3"])
    if lack == "missing":
        del parts["critic.optimizer.pth"]
    else:
        # The studio has one number of steps for all weights.
        optimiser = files.tensors_of(parts["critic.optimizer.pth"])
        optimiser["state"][3]["step"] += 1
        parts["critic.optimizer.pth"] = files.saved(optimiser)
    agent = converted(files.write_zip(tmp_path / "a.zip", parts))
    assert not agent.tensors["critic_adam.critic1.0.weight.exp_avg"].any()
    assert not agent.tensors["critic_adam.step"].any()
    assert agent.tensors["actor_adam.actor.0.weight.exp_avg"].any()
    assert "The file holds no optimiser state: its moments begin at zero." in notes_of(agent)


def test_moments_in_another_order_than_the_weights_are_refused(
    peers: dict[str, Path], tmp_path: Path
) -> None:
    parts = files.members(peers["td3"])
    optimiser = files.tensors_of(parts["actor.optimizer.pth"])
    optimiser["state"] = dict(reversed(optimiser["state"].items()))
    parts["actor.optimizer.pth"] = files.saved(optimiser)
    path = files.write_zip(tmp_path / "a.zip", parts)
    with pytest.raises(RequestError, match="not one state for each weight and bias"):
        read(path)


OTHER_OPTIMISER = (
    "It was trained with another optimiser. Here Adam goes on: its moments begin at zero, and its"
    " learning rates are the defaults."
)
OTHER_CONSTANTS = (
    "It was trained with other constants of Adam (betas, eps, weight decay or AMSGrad). Here Adam"
    " goes on with those of its paper: its moments begin at zero."
)


@pytest.mark.parametrize(
    ("optimiser", "options", "said", "lr"),
    [
        ("SGD", {}, OTHER_OPTIMISER, Tunables().actor_lr),
        ("SGD", {"momentum": 0.9}, OTHER_OPTIMISER, Tunables().actor_lr),
        ("RMSprop", {}, OTHER_OPTIMISER, Tunables().actor_lr),
        ("NAdam", {}, OTHER_OPTIMISER, Tunables().actor_lr),
        ("RAdam", {}, OTHER_OPTIMISER, Tunables().actor_lr),
        ("AdamW", {"weight_decay": 0.1}, OTHER_CONSTANTS, 0.02),
        ("Adam", {"betas": (0.5, 0.999)}, OTHER_CONSTANTS, 0.02),
        ("Adam", {"eps": 1e-5}, OTHER_CONSTANTS, 0.02),
        ("Adam", {"amsgrad": True}, OTHER_CONSTANTS, 0.02),
    ],
)
def test_another_optimiser_or_other_constants_are_said_and_no_rate_of_another_is_adams(
    peers: dict[str, Path],
    tmp_path: Path,
    optimiser: str,
    options: dict[str, Any],
    said: str,
    lr: float,
) -> None:
    parts = files.members(peers["td3"])
    policy = files.tensors_of(parts["policy.pth"])
    for role in ("actor", "critic"):
        weights = [
            torch.nn.Parameter(tensor)
            for name, tensor in policy.items()
            if name.startswith(f"{role}.")
        ]
        stepped = getattr(torch.optim, optimiser)(weights, lr=0.02, **options)
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        stepped.step()
        parts[f"{role}.optimizer.pth"] = files.saved(stepped.state_dict())
    parts["data"] = json.dumps(json.loads(parts["data"]) | {"learning_rate": 0.02}).encode()
    agent = converted(files.write_zip(tmp_path / "a.zip", parts))
    about = [note for note in notes_of(agent) if "moments" in note]
    assert about == [said]
    assert not agent.tensors["critic_adam.critic1.0.weight.exp_avg"].any()
    assert not agent.tensors["actor_adam.step"].any()
    tunables = agent.header.tunables
    assert (tunables.actor_lr, tunables.critic_lr) == (lr, lr)


def test_a_zip_that_was_compressed_again_reads_the_same(
    peers: dict[str, Path], tmp_path: Path
) -> None:
    import zipfile

    parts = files.members(peers["td3"])
    path = files.write_zip(tmp_path / "a.zip", parts, zipfile.ZIP_DEFLATED)
    one, other = converted(path), converted(peers["td3"])
    assert all(np.array_equal(one.tensors[n], other.tensors[n]) for n in other.tensors)


@pytest.mark.parametrize(
    ("key", "tensor", "words"),
    [
        ("actor__mu__1__running_mean", torch.zeros(32), "batch normalisation"),
        ("actor__features_extractor__cnn__0__weight", torch.zeros(8, 1), "pictures"),
        ("actor__log_std", torch.zeros(1), "gSDE"),
        ("mlp_extractor__policy_net__0__weight", torch.zeros(8, 3), "PPO or A2C"),
        ("actor__mu__7__weight", torch.zeros(8, 3), "no plain network"),
        ("actor__mu__0__weight", torch.zeros(32, 4), "has the shape"),
        ("actor__mu__0__bias", torch.full((32,), torch.nan), "not numbers"),
        ("critic__qf0__0__weight", torch.zeros(32, 4, dtype=torch.float64), "float64"),
        ("critic__qf1__0__weight", torch.zeros(32, 5), "has the shape"),
    ],
)
def test_a_network_of_another_kind_is_refused_with_its_key(
    key: str, tensor: torch.Tensor, words: str, peers: dict[str, Path], tmp_path: Path
) -> None:
    path = files.with_tensors(peers["td3"], tmp_path / "odd.zip", **{key: tensor})
    with pytest.raises(RequestError, match=words) as refused:
        converted(path)
    assert "odd.zip cannot be imported: in policy.pth" in str(refused.value)
    assert key.replace("__", ".") in str(refused.value)


def test_another_activation_is_refused_by_its_name(peers: dict[str, Path], tmp_path: Path) -> None:
    from stable_baselines3 import TD3

    path = tmp_path / "elu.zip"
    kwargs = {"net_arch": [8], "activation_fn": torch.nn.ELU}
    TD3("MlpPolicy", "Pendulum-v1", policy_kwargs=kwargs, buffer_size=10, device="cpu").save(path)
    with pytest.raises(RequestError, match=r"torch.nn.modules.activation.ELU"):
        read(path)


def test_an_environment_that_does_not_fit_is_refused(peers: dict[str, Path]) -> None:
    from dataclasses import replace

    info = files.pendulum()
    with pytest.raises(RequestError, match="observations of size 3"):
        checkpoint_of(read(peers["td3"]), replace(info, obs_dim=4))
    with pytest.raises(RequestError, match="the high bounds 2; those of Pendulum-v1 are 1"):
        checkpoint_of(read(peers["td3"]), replace(info, action_high=(1.0,)))


@pytest.mark.parametrize(
    ("value", "taken"), [(7, 1.0), (-1, 0.0), (10**400, 1.0), (None, 0.005), ("x", 0.005)]
)
def test_a_setting_out_of_range_becomes_one_in_range_and_it_is_said(
    value: Any, taken: float, peers: dict[str, Path], tmp_path: Path
) -> None:
    path = files.with_data(peers["td3"], tmp_path / "a.zip", tau=value)
    assert converted(path).header.tunables.tau == pytest.approx(taken, abs=1e-3)
    (told,) = [str(note) for note in read(path).notes if str(note).startswith("tau is ")]
    assert len(told) < 120


def test_as_many_updates_as_a_branch_allows_are_made_where_the_file_has_more(
    peers: dict[str, Path], tmp_path: Path
) -> None:
    path = files.with_data(peers["td3"], tmp_path / "a.zip", train_freq=128, gradient_steps=-1)
    tunables = converted(path).header.tunables
    assert (tunables.update_interval, tunables.updates_per_step) == (128, 64)
    notes = [str(note) for note in read(path).notes]
    assert "updates_per_step is 128 in the file; it is set to 64." in notes


def pickled(value: Any) -> dict[str, str]:
    """Return a value that JSON cannot hold as the peer writes it."""
    return {":serialized:": base64.b64encode(pickle.dumps(value)).decode()}


def test_of_noise_that_differs_between_actions_the_largest_is_kept(
    peers: dict[str, Path], tmp_path: Path
) -> None:
    from stable_baselines3.common.noise import NormalActionNoise

    noise = pickled(NormalActionNoise(np.zeros(2), np.array([0.3, 0.1])))
    found = read(files.with_data(peers["td3"], tmp_path / "a.zip", action_noise=noise))
    assert found.settings["exploration_noise"] == 0.3
    assert any("the largest is kept" in str(note) for note in found.notes)


def test_numbers_of_numpy_are_numbers(peers: dict[str, Path], tmp_path: Path) -> None:
    values = {"batch_size": np.int64(48), "learning_rate": np.float32(0.25)}
    numbers = {name: pickled(value) for name, value in values.items()}
    path = files.with_data(peers["td3"], tmp_path / "a.zip", **numbers)
    tunables = converted(path).header.tunables
    assert (tunables.batch_size, tunables.actor_lr) == (48, 0.25)
    assert read(path).notes == read(peers["td3"]).notes


def test_more_than_two_critics_are_refused_by_their_number(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    path = tmp_path / "three.zip"
    kwargs = {"net_arch": [8], "n_critics": 3}
    sb3.TD3("MlpPolicy", "Pendulum-v1", policy_kwargs=kwargs, buffer_size=10, device="cpu").save(
        path
    )
    with pytest.raises(RequestError, match="there are 3 critics; one or two are known"):
        read(path)


def test_a_td3_with_one_critic_is_no_ddpg(peers: dict[str, Path], tmp_path: Path) -> None:
    values = {"policy_delay": 2, "target_noise_clip": 0.5}
    path = files.with_data(peers["ddpg"], tmp_path / "a.zip", **values)
    assert read(path).kind == "stable-baselines3 TD3"


@pytest.mark.parametrize("value", [True, -1, "60", None, 10**400])
def test_a_counter_that_is_none_is_refused(
    value: Any, peers: dict[str, Path], tmp_path: Path
) -> None:
    path = files.with_data(peers["td3"], tmp_path / "a.zip", num_timesteps=value)
    with pytest.raises(RequestError, match=r"a\.zip cannot be imported"):
        read(path)


def test_the_description_of_the_test_files_is_what_the_peer_writes(
    peers: dict[str, Path],
) -> None:
    # Else the tests above would change what nobody reads.
    data = json.loads(files.members(peers["td3"])["data"])
    assert data["num_timesteps"] == 60
    assert data["tau"] == 0.005
