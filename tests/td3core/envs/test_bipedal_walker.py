"""Pictures of BipedalWalker, which are drawn by ourselves."""

import random

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.box2d.bipedal_walker import TERRAIN_LENGTH, TERRAIN_STEP, BipedalWalker

from td3core.config import EnvChoice
from td3core.envs.graphics.bipedal_walker import WalkerPainter
from td3core.envs.make import make_env
from td3core.envs.rendering import draw_faster

HARDCORE = EnvChoice("BipedalWalker-v3", '{"hardcore": true}')


class Inverted(BipedalWalker):
    """Draws in its own way."""

    def render(self):
        return 255 - super().render()


@pytest.mark.parametrize("choice", [EnvChoice("BipedalWalker-v3"), HARDCORE])
@pytest.mark.slow
def test_every_place_of_the_course_looks_as_gymnasium_draws_it(choice):
    env, places = make_env(choice, render=True), random.Random(0)
    try:
        for seed in range(3):
            env.reset(seed=seed)
            walker = env.unwrapped
            for _ in range(12):
                env.step(env.action_space.sample())
                # Its beginning, and a little before it, are special: nothing is cut off there.
                walker.scroll = places.uniform(-2, TERRAIN_LENGTH * TERRAIN_STEP - 10)
                ray = walker.lidar_render
                picture = env.render()
                walker.lidar_render = ray
                expected = BipedalWalker.render(walker)
                # Antialiasing in float32 may differ by a rounding.
                assert np.abs(picture.astype(int) - expected).max() <= 1
                assert picture.flags.writeable
    finally:
        env.close()


def test_a_walker_that_has_fallen_and_begins_anew_has_its_new_terrain_drawn():
    env = make_env(HARDCORE, render=True)
    try:
        env.reset(seed=1)
        first = env.render()
        env.reset(seed=2)
        env.unwrapped.lidar_render = 0
        second = env.render()
        env.unwrapped.lidar_render = 0
        assert np.array_equal(second, BipedalWalker.render(env.unwrapped))
        assert not np.array_equal(first, second)
    finally:
        env.close()


def test_a_class_derived_from_the_walker_draws_itself():
    env = Inverted(render_mode="rgb_array")
    env.reset(seed=0)
    draw_faster(env)
    assert not isinstance(env.render, WalkerPainter)
    assert tuple(env.render()[0, 0]) == (40, 40, 0)
    env.close()


def test_other_environments_draw_themselves():
    env = gym.make("Pendulum-v1", render_mode="rgb_array")
    before = set(vars(env.unwrapped))
    draw_faster(env)
    assert set(vars(env.unwrapped)) == before
    env.close()
