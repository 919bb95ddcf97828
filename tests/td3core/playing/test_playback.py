"""An episode that is played, alone and side by side."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from td3core.config import EnvChoice, Tunables
from td3core.inference.policy import Policy
from td3core.playing.disturbance import Disturbed, Pushes, Variant, noise_of
from td3core.playing.numbers import EpisodeLog
from td3core.playing.playback import Agent, Playback
from td3core.playing.side_by_side import SideBySide
from td3core.playing.step import BEGINNING
from td3core.randomness import Purpose, episode_seed
from tests.support.scripted import STEPS, Script

HALF = Policy([(np.zeros((1, 2), np.float32), np.float32([0.5]))], "relu")
PAIR = Policy([(np.eye(2, 3, dtype=np.float32), np.zeros(2, np.float32))], "relu")


def test_a_playback_tells_each_step_to_the_end_of_the_episode(scripted: Any) -> None:
    script = Script(episodes=[(3, "truncated")], reward=lambda step, _: float(step))
    agent, log = Agent(choice=EnvChoice(scripted(script)), policy=HALF), EpisodeLog(2)
    with closing(Playback(agent, 11, 2, log=log)) as playback:
        assert playback.step == BEGINNING
        steps = list(playback)
    assert [(s.number, s.reward, s.total) for s in steps] == [(1, 1, 1), (2, 2, 3), (3, 3, 6)]
    assert [s.over for s in steps] == [False, False, True]
    assert [str(s.ending) for s in steps] == ["", "", "time limit"]
    assert playback.step == steps[-1]
    assert script.seeds == [episode_seed(11, Purpose.EVALUATION, 2)]
    assert (script.made, script.closed) == (1, 1)
    # The action of tanh(0.5) in [-1, 1] is twice that in [-2, 2]; nothing is added to it.
    np.testing.assert_allclose(np.ravel(script.actions), [2 * np.tanh(0.5)] * 3, rtol=1e-6)
    kept = log.after(0, 0, None)
    assert kept is not None
    assert kept.obs.tolist() == [[0, 0], [0, 1], [0, 2]]
    np.testing.assert_array_equal(np.ravel(script.actions), 2 * np.ravel(kept.action))


def test_an_environment_whose_reset_fails_is_closed(scripted: Any) -> None:
    def broken(_: int) -> None:
        raise RuntimeError("the joint broke")

    script = Script(on_reset=broken)
    with pytest.raises(RuntimeError, match="the joint broke"):
        Playback(Agent(choice=EnvChoice(scripted(script)), policy=HALF), 0, 0)
    assert (script.made, script.closed) == (1, 1)


def test_agents_side_by_side_play_as_alone_and_those_that_are_over_wait(scripted: Any) -> None:
    lengths = Script(episodes=[(2, "terminated"), (4, "truncated")])
    agent = Agent(choice=EnvChoice(scripted(lengths)), policy=HALF)
    playing = SideBySide([agent, agent], 0, 0)
    moved = []
    while not playing.step.over:
        moved.append(playing.advance())
    assert moved == [[0, 1], [0, 1], [1], [1]]
    assert [(s.number, str(s.ending)) for s in playing.steps] == [(2, "ended"), (4, "time limit")]
    assert (playing.step.number, playing.step.total, str(playing.step.ending)) == (
        4,
        2.0,
        "time limit",
    )
    playing.close()
    assert lengths.closed == 2
    plain = Agent(choice=EnvChoice(STEPS), policy=PAIR)
    noisy = Agent(choice=plain.choice, policy=PAIR, variant=Variant.NOISE, noise=0.3)
    with closing(SideBySide([plain, noisy, plain], 3, 1)) as playing:
        while not playing.step.over:
            playing.advance()
    one, disturbed, other = playing.steps
    with closing(Playback(plain, 3, 1)) as playback:
        *_, alone = playback
    assert one == other == alone
    assert disturbed.total != alone.total


def test_agents_that_decide_less_often_keep_to_the_simulated_time_of_the_others() -> None:
    often = Agent(choice=EnvChoice(STEPS), policy=PAIR)
    seldom = Agent(choice=EnvChoice(STEPS, '{"action_repeat": 2}'), policy=PAIR)
    with closing(SideBySide([often, seldom], 3, 0)) as playing:
        for number in range(1, 6):
            assert playing.advance() == ([0, 1] if number % 2 else [0])
            assert [step.number for step in playing.steps] == [number, (number + 1) // 2]
            assert playing.step.number == number
    with closing(SideBySide([seldom, often], 3, 0)) as playing:
        for number in range(1, 6):
            assert playing.advance() == [0, 1]
            assert [step.number for step in playing.steps] == [number, 2 * number]
            assert playing.step.number == number


def test_agents_that_decide_less_often_are_pushed_at_the_same_time_as_the_others() -> None:
    pushes = Pushes(fps=50.0)
    first = pushes.starts[0]
    often = Disturbed(lambda obs: obs, 0, pushes=pushes, fps=50.0)
    seldom = Disturbed(lambda obs: obs, 0, pushes=pushes, fps=25.0)
    still = np.zeros(1, np.float32)
    moved = [bool(often(still).any()) for _ in range(2 * first)]
    assert [bool(seldom(still).any()) for _ in range(first)] == moved[1::2]


def test_if_an_agent_cannot_begin_the_environments_of_the_others_are_closed(scripted: Any) -> None:
    def broken(reset: int) -> None:
        if reset == 1:
            raise RuntimeError("the joint broke")

    script = Script(on_reset=broken)
    agent = Agent(choice=EnvChoice(scripted(script)), policy=HALF)
    with pytest.raises(RuntimeError, match="the joint broke"):
        SideBySide([agent, agent], 0, 0)
    assert (script.made, script.closed) == (2, 2)


@pytest.mark.parametrize(("repeat", "fps"), [(1, 30.0), (4, 7.5), (100, 0.3)])
def test_repeated_actions_leave_fewer_steps_a_second(repeat: int, fps: float) -> None:
    choice = EnvChoice("Pendulum-v1", f'{{"action_repeat": {repeat}}}')
    still = Policy([(np.zeros((1, 3), np.float32), np.zeros(1, np.float32))], "relu")
    with closing(Playback(Agent(choice=choice, policy=still), 0, 0)) as playback:
        assert playback.fps == fps


def test_the_noise_on_record_counts_though_its_decay_was_switched_off() -> None:
    for decay in (0.999, 1.0):
        tunables = Tunables(exploration_noise=0.4, exploration_noise_decay=decay)
        assert noise_of(tunables, 0.02) == 0.02
    # An agent of another program, which has none on record.
    assert noise_of(Tunables(exploration_noise=0.4), 0.0) == 0.4
