"""RL Zoo's folder: agent, environment, statistics and evaluations together."""

import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from td3core.checkpoint.agent import spec_of
from td3core.config import EnvChoice
from td3core.errors import RequestError
from td3core.importers import importing, registry, vec_normalize
from td3core.importers.damage import UnexpectedError
from td3core.importers.plain_yaml import read_yaml
from td3core.playing.numbers import in_bounds
from tests.td3core.importers import foreign_files as files
from tests.td3core.importers.foreign_files import converted

HALF = 2.0


def statistics(zoo: Path) -> Path:
    return zoo / "Pendulum-v1" / "vecnormalize.pkl"


def peer_actions(zoo: Path, obs: Any) -> Any:
    from stable_baselines3 import TD3
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    vec = DummyVecEnv([lambda: gym.make("Pendulum-v1")])
    normalise = VecNormalize.load(str(statistics(zoo)), vec)
    model = TD3.load(zoo / "Pendulum-v1.zip", device="cpu")
    actions, _ = model.predict(normalise.normalize_obs(obs), deterministic=True)
    vec.close()
    return actions


def test_normalised_observations_lead_to_the_actions_of_the_peer(zoo: Path) -> None:
    _, agent = converted(zoo)
    obs = files.observations()
    found = in_bounds(agent.policy()(obs), spec_of(agent.header, None))
    assert np.abs(found - peer_actions(zoo, obs)).max() <= 1e-6 * HALF
    assert agent.header.config.normalize_observations


def test_a_zip_of_the_folder_brings_what_lies_beside_it(zoo: Path) -> None:
    found, _ = converted(zoo / "Pendulum-v1.zip")
    assert found.normalisation is not None
    assert found.env == EnvChoice("Pendulum-v1", '{"g": 9.5}')
    assert [name for name, _ in found.sources] == ["Pendulum-v1.zip", "vecnormalize.pkl"]


def test_rewards_are_scaled_as_they_were_last(zoo: Path) -> None:
    found, agent = converted(zoo)
    with statistics(zoo).open("rb") as file:
        vec = pickle.load(file)
    scale = 1 / np.sqrt(vec.ret_rms.var + vec.epsilon)
    assert agent.header.config.reward_scale == pytest.approx(scale)
    assert any("running deviation" in str(note) for note in found.notes)


def test_evaluations_and_episodes_come_with_the_folder(zoo: Path) -> None:
    found = importing.examine(zoo)
    evaluations, episodes = found.curves
    assert [point.env_steps for point in evaluations.evaluations] == [20, 40]
    assert evaluations.evaluations[1].returns == (-500.0, -700.0)
    assert [point.env_steps for point in episodes.episodes] == [200, 400]


def altered(zoo: Path, target: Path, **values: Any) -> Path:
    """Return statistics with other attributes."""
    with statistics(zoo).open("rb") as file:
        vec = pickle.load(file)
    # What it leaves out of its pickle.
    vec.venv, vec.class_attributes, vec.returns = None, {}, None
    for name, value in values.items():
        setattr(vec, name, value)
    path = target / "vecnormalize.pkl"
    path.write_bytes(pickle.dumps(vec))
    return path


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("clip_obs", 5.0, "clipped at 5; only 10"),
        ("epsilon", 1e-12, "epsilon is 1e-12"),
        ("clip_obs", "10", "clip_obs is no number"),
        ("obs_rms", {"a": 1}, "observations are a dictionary"),
    ],
)
def test_what_the_normaliser_cannot_do_is_refused(
    zoo: Path, tmp_path: Path, name: str, value: Any, words: str
) -> None:
    with pytest.raises(RequestError, match=words):
        vec_normalize.read(altered(zoo, tmp_path, **{name: value}), 3)


def test_a_larger_epsilon_is_a_larger_variance(zoo: Path, tmp_path: Path) -> None:
    usual = vec_normalize.read(statistics(zoo), 3).observations
    wider = vec_normalize.read(altered(zoo, tmp_path, epsilon=0.5), 3).observations
    assert usual is not None
    assert wider is not None
    assert wider.variance == pytest.approx(usual.variance + 0.5)


def test_statistics_of_another_size_are_refused(zoo: Path) -> None:
    with pytest.raises(RequestError, match=r"in obs_rms, mean has the shape \(3,\)"):
        vec_normalize.read(statistics(zoo), 4)


def test_observations_that_are_left_alone_need_no_statistics(zoo: Path, tmp_path: Path) -> None:
    found = vec_normalize.read(altered(zoo, tmp_path, norm_obs=False, norm_reward=False), 3)
    assert (found.observations, found.reward_scale) == (None, None)


def copied(zoo: Path, target: Path) -> Path:
    import shutil

    shutil.copytree(zoo, target / "run")
    return target / "run"


def test_missing_statistics_are_refused(zoo: Path, tmp_path: Path) -> None:
    run = copied(zoo, tmp_path)
    statistics(run).unlink()
    with pytest.raises(RequestError, match=r"config.yml cannot be imported: in normalize"):
        registry.read(run)


def test_statistics_of_rewards_alone_may_be_missing(zoo: Path, tmp_path: Path) -> None:
    run = copied(zoo, tmp_path)
    statistics(run).unlink()
    config = run / "Pendulum-v1" / "config.yml"
    for value in ("\"{'norm_obs': False, 'norm_reward': True}\"", "dict(norm_obs=False)"):
        config.write_text(f"normalize: {value}\n")
        assert converted(run)[0].normalisation is None
    config.write_text("normalize: \"{'norm_obs': True}\"\n")
    with pytest.raises(RequestError, match=r"vecnormalize.pkl is missing"):
        registry.read(run)


def test_a_wrapper_is_refused_by_its_name(zoo: Path, tmp_path: Path) -> None:
    run = copied(zoo, tmp_path)
    config = run / "Pendulum-v1" / "config.yml"
    config.write_text(config.read_text() + "- - - env_wrapper\n    - a.TimeFeatureWrapper\n")
    with pytest.raises(RequestError):
        registry.read(run)
    for name in ("env_wrapper", "vec_env_wrapper"):
        config.write_text(f"{name}: a.TimeFeatureWrapper\n")
        with pytest.raises(RequestError, match=f"in the file, {name} changes what the agent sees"):
            registry.read(run)


def test_tags_of_yaml_run_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    found = read_yaml(f"env: !!python/object/apply:os.system ['touch {mark}']\n".encode())
    assert found == {"env": [f"touch {mark}"]}
    assert not mark.exists()


def test_an_alias_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(UnexpectedError, match="too many values"):
        read_yaml("\n".join(lines).encode())
