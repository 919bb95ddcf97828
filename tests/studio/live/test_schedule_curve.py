"""The curve of a schedule, which a run moves along ten times a second."""

import numpy as np
import pytest
from PySide6.QtGui import QImage

from studio.live.schedule_curve import ScheduleCurve
from td3core.arrays import Floats
from td3core.config import make_settings, schedule_of
from td3core.config.piecewise import PiecewiseSchedule
from td3core.config.settings import spec

STEPS = 10_000


class Counted(ScheduleCurve):
    """Counts how often it wants to be painted."""

    def __init__(self, *args: object) -> None:
        self.updates = 0
        super().__init__(*args)  # type: ignore[arg-type]

    def update(self, *_: object) -> None:
        """Count."""
        self.updates += 1
        super().update()


@pytest.fixture
def schedule() -> PiecewiseSchedule:
    """Tau halfway down, then held."""
    _, tunables = make_settings({"env": "any", "tau": "0.5@0, 0.005@50%"})
    found = schedule_of(tunables, "tau")
    assert found is not None
    return found


@pytest.fixture
def curve(qtbot, schedule: PiecewiseSchedule) -> Counted:
    """The curve, 200 pixels wide, with the run at its beginning."""
    _, tunables = make_settings({"env": "any"})
    made = Counted(spec(tunables, "tau"))
    qtbot.addWidget(made)
    made.resize(200, made.height())
    made.show_schedule(schedule, 0, STEPS)
    made.updates = 0
    return made


def dot(curve: ScheduleCurve) -> float:
    """Return the mean column of the pixels in the dot's colour."""
    picture = curve.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(picture.constBits(), np.uint8).reshape(picture.height(), -1)
    pixels: Floats = rows[:, : 3 * picture.width()].reshape(picture.height(), -1, 3)
    wanted = curve.palette().highlight().color()
    colour = [wanted.red(), wanted.green(), wanted.blue()]
    return float(np.nonzero((pixels == colour).all(axis=2))[1].mean())


def test_the_dot_is_painted_once_it_has_moved_visibly(
    curve: Counted, schedule: PiecewiseSchedule
) -> None:
    before = dot(curve)
    # A fiftieth of a pixel each: the first of 200 pixels is 50 steps wide.
    for step in range(1, 11):
        curve.show_schedule(schedule, step, STEPS)
    assert curve.updates == 0
    curve.show_schedule(schedule, STEPS // 2, STEPS)
    assert curve.updates == 1
    assert dot(curve) - before == pytest.approx(95, abs=3)


def test_another_length_of_the_run_moves_the_dot_back(
    curve: Counted, schedule: PiecewiseSchedule
) -> None:
    curve.show_schedule(schedule, STEPS, STEPS)
    end = dot(curve)
    curve.show_schedule(schedule, STEPS, 2 * STEPS)
    assert end - dot(curve) == pytest.approx(95, abs=3)


def test_another_schedule_is_drawn_at_once(curve: Counted) -> None:
    _, tunables = make_settings({"env": "any", "tau": "0.005@0, 0.5@50%"})
    before = curve.grab().toImage()
    curve.show_schedule(schedule_of(tunables, "tau"), 0, STEPS)
    assert curve.updates == 1
    assert curve.grab().toImage() != before


def test_without_a_schedule_it_is_hidden(curve: Counted) -> None:
    assert not curve.isHidden()
    curve.show_schedule(None, 0, 1)
    assert curve.isHidden()
