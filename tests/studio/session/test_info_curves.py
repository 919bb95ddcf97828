"""The recorded numbers of an environment's info are curves like any other."""

import math
from dataclasses import replace

import numpy as np

from studio.plots.curve import info_curve, logged
from studio.session.curves import RunCurves
from studio.session.series import Series
from td3core.config import Tunables
from td3core.protocol.events import EpisodeEnded, Episodes, Phase, Progress
from td3core.protocol.metrics import TRAINING_COLUMNS


def progress(*ended: EpisodeEnded) -> Progress:
    return Progress(
        phase=Phase.LEARNING,
        env_steps=ended[-1].env_steps,
        updates=0,
        episodes=len(ended),
        steps_per_s=1.0,
        wall_s=1.0,
        exploration_noise=0.1,
        revision=0,
        tunables=Tunables(),
        training=np.empty((0, len(TRAINING_COLUMNS))),
        ended=Episodes.of(ended),
    )


def episode(number: int, **info: float) -> EpisodeEnded:
    return EpisodeEnded(
        episode=number,
        env_steps=100 * (number + 1),
        episode_return=-1.0 * number,
        shaped_return=0.0,
        length=100,
        terminated=False,
        wall_s=1.0 * number,
        info={f"info.{name}": value for name, value in info.items()},
    )


def test_columns_appear_with_the_first_episode_that_has_them() -> None:
    curves = RunCurves()
    assert curves.info_columns == ()
    curves.add(progress(episode(0)))
    curves.add(progress(episode(1, x=2.0, y=5.0), episode(2, x=3.0, y=math.nan)))
    curves.add(progress(episode(3, y=6.0)))
    assert curves.info_columns == ("info.x", "info.y")
    assert np.array_equal(
        curves.episodes.column("info.x"), [math.nan, 2.0, 3.0, math.nan], equal_nan=True
    )
    x, y = curves.episodes.curve("info.y", 0, 1000, 100)
    assert list(zip(x, y, strict=True)) == [(200.0, 5.0), (400.0, 6.0)]
    assert list(curves.episodes.column("return")) == [0.0, -1.0, -2.0, -3.0]
    curves.keep_to(200)
    assert len(curves.episodes) == 2


def test_every_plot_offers_what_the_run_has_and_no_other() -> None:
    curves = RunCurves()
    curves.add(progress(replace(episode(0, x=1.0))))
    added = {curve.column for curve in logged(curves)} - {curve.column for curve in logged()}
    assert added == {"info.x"}
    curve = info_curve("info.x")
    assert curve.series_in(curves) is curves.episodes
    assert curve.label.english == "info.x"
    assert curve.series_in(RunCurves()) is None


def test_columns_can_be_added_to_a_series_that_has_been_thinned() -> None:
    series = Series(("x", "a"), capacity=8)
    series.append([(at, at) for at in range(21)])
    series.add_columns(("b",))
    series.append([(at, at, -at) for at in range(21, 64)])
    assert series.columns == ("x", "a", "b")
    kept = series.column("b")
    assert math.isnan(kept[0])
    assert kept[-1] < -50
    assert series.column("a")[-1] == -kept[-1]
