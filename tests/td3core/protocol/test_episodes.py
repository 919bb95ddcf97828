"""Episodes that are kept as an array are those that were put into it."""

import json
import math
from dataclasses import replace

import numpy as np

from td3core.protocol.codec import RUN
from td3core.protocol.events import EpisodeEnded, Episodes
from td3core.protocol.rows import episodes_of
from tests.support.events import progress

FIRST = EpisodeEnded(
    episode=1,
    env_steps=200,
    episode_return=-1.25,
    shaped_return=-0.5,
    length=200,
    terminated=False,
    wall_s=0.75,
)
SECOND = EpisodeEnded(
    episode=2,
    env_steps=250,
    episode_return=0.1,
    shaped_return=0.1,
    length=50,
    terminated=True,
    wall_s=1.5,
)


def test_episodes_come_back_one_by_one_with_the_types_of_their_fields() -> None:
    episodes = Episodes.of([FIRST, SECOND])
    assert list(episodes) == [FIRST, SECOND]
    assert (episodes[0], episodes[-1], len(episodes)) == (FIRST, SECOND, 2)
    assert list(episodes[1:]) == [SECOND]
    for value, type_ in (("episode", int), ("length", int), ("terminated", bool)):
        assert type(getattr(episodes[0], value)) is type_
    assert not Episodes.of()


def test_columns_are_taken_by_the_names_of_fields() -> None:
    columns = Episodes.of([FIRST, SECOND]).columns("env_steps", "wall_s")
    np.testing.assert_array_equal(columns, [[200, 0.75], [250, 1.5]])


def test_a_line_holds_episodes_as_objects() -> None:
    event = progress(250, ended=Episodes.of([FIRST, SECOND]))
    line = RUN.encode(event)
    assert json.loads(line)["data"]["ended"][1] == {
        "episode": 2,
        "env_steps": 250,
        "episode_return": 0.1,
        "shaped_return": 0.1,
        "length": 50,
        "terminated": True,
        "wall_s": 1.5,
        "info": {},
    }
    assert list(RUN.decode(line).ended) == [FIRST, SECOND]


def test_a_time_that_is_not_on_record_stays_unknown() -> None:
    known = [name for name in FIRST.__slots__ if name not in ("wall_s", "info")]
    without = EpisodeEnded(**{name: getattr(FIRST, name) for name in known})
    assert math.isnan(Episodes.of([without])[0].wall_s)


def test_what_else_is_not_on_record_is_a_length_of_zero_and_no_terminal_state() -> None:
    rows = np.array([[1.0, 200.0, -1.25, -0.5, math.nan, math.nan, 0.75]])
    (episode,) = episodes_of(rows)
    assert episode == replace(FIRST, length=0, terminated=False)


def test_what_episodes_recorded_of_info_goes_with_them() -> None:
    plain = {name: getattr(FIRST, name) for name in FIRST.__slots__}
    first = EpisodeEnded(**plain | {"info": {"info.x": 1.5, "info.y": 2.0}})
    second = EpisodeEnded(**plain | {"info": {"info.y": 3.0}})
    episodes = Episodes.of([first, second])
    assert episodes.info_columns == ("info.x", "info.y")
    assert episodes.columns("info.y", "length").tolist() == [[2.0, 200.0], [3.0, 200.0]]
    assert episodes[0] == first
    assert math.isnan(episodes[1:][0].info["info.x"])


def test_episodes_put_together_keep_what_either_recorded_of_info() -> None:
    plain = {name: getattr(FIRST, name) for name in FIRST.__slots__}
    first = EpisodeEnded(**plain | {"info": {"info.x": 1.5, "info.y": 2.0}})
    second = EpisodeEnded(**plain | {"info": {"info.y": 3.0, "info.z": 4.0}})
    held = progress(200, ended=Episodes.of([first]))
    both = progress(400, ended=Episodes.of([second])).after(held).after(progress(100)).ended
    assert both.info_columns == ("info.x", "info.y", "info.z")
    found = [{k: v for k, v in each.info.items() if not math.isnan(v)} for each in both]
    assert found == [first.info, second.info]
    assert len(RUN.decode(RUN.encode(progress(400, ended=both))).ended) == 2
