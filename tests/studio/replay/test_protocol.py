"""Messages between window and renderer arrive as they were sent."""

import math
from pathlib import Path

import numpy as np

from studio.replay.renderer import protocol
from studio.replay.renderer.protocol import CODEC
from td3core.playing.compared import ComparedAgent
from td3core.playing.disturbance import Variant
from td3core.playing.numbers import StepData, Steps
from td3core.playing.step import RolloutStep

NUMBERS = np.array([0.1, -0.0, math.inf, 1e-45], np.float32)


def test_arrays_arrive_bit_for_bit() -> None:
    doubles = np.array([0.1, math.nan, -math.inf])
    steps = Steps(1, 2, doubles, -doubles, NUMBERS, NUMBERS[:, None], np.stack([NUMBERS] * 4))
    found = CODEC.decode(CODEC.encode(steps))
    assert type(found) is Steps
    assert found[:2] == (1, 2)
    for sent, received in zip(steps[2:], found[2:], strict=True):
        assert (sent.dtype, sent.shape) == (received.dtype, received.shape)
        assert sent.tobytes() == received.tobytes()


def test_a_frame_arrives_with_all_its_parts() -> None:
    step = RolloutStep(3, -1.5, 0.1, terminated=False, truncated=True)
    data = StepData(3, 1.0, math.inf, 0.25, NUMBERS, NUMBERS)
    frame = protocol.Frame(episode=0, step=step, playback_id=4, data=data, steps=(step, step))
    drawn = protocol.Drawn(slot=1, width=20, height=10, frame=frame)
    found = CODEC.decode(CODEC.encode(drawn))
    assert (found.frame.step, found.frame.steps, found.frame.images) == (step, (step, step), ())
    assert found.frame.step.over
    assert found.frame.data[:4] == data[:4]
    np.testing.assert_array_equal(found.frame.data.obs, NUMBERS)


def test_commands_arrive_as_they_were_sent() -> None:
    compared = (ComparedAgent(Path("a")), ComparedAgent(Path("b"), Variant.PUSH))
    for command in (
        protocol.Load(ticket=1, path=Path("a"), seed=2, playing=True, compared=compared),
        protocol.Speed(factor=math.inf),
        protocol.Look(),
        protocol.Play(),
    ):
        found = CODEC.decode(CODEC.encode(command))
        assert (type(found), found) == (type(command), command)
