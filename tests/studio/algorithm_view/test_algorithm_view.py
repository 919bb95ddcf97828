"""The algorithm as a picture: what it shows of an update, and that it asks for nothing unseen."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.algorithm_view.algorithm_panel import AlgorithmPanel
from studio.algorithm_view.boxes import BOXES, climbed_critics
from studio.formatting import format_number, format_tick
from studio.session.controller import SessionState
from studio.session.model import RunModel
from studio.theme.theme import load_theme
from td3core.config import RunConfig, Tunables, algorithms, make_settings
from td3core.config.algorithms import ALGORITHMS
from td3core.experiments.jobs import NewRun
from td3core.protocol.control import Control
from td3core.protocol.events import NetworkChange, Traced
from tests.support.events import progress, started
from tests.td3core.helpers import tiny

NETWORKS = [box.network for box in BOXES if box.network]


class Asked(QObject):
    """Stands in for the controller of a run: remembers the requests."""

    traced = Signal(object)
    state_changed = Signal(object)
    busy, following = True, False

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []
        self.state = SessionState.RUNNING

    def trace(self, wanted: bool) -> None:
        self.asked.append(wanted)

    @Slot()
    def step(self) -> None:
        self.asked.append("step")

    def become(self, state: SessionState) -> None:
        self.state = state
        self.state_changed.emit(state)


@pytest.fixture
def model() -> RunModel:
    return RunModel()


@pytest.fixture
def run() -> Asked:
    return Asked()


@pytest.fixture
def panel(qtbot: Any, model: RunModel, run: Asked) -> AlgorithmPanel:
    made = AlgorithmPanel(model, run, load_theme("light"))  # type: ignore[arg-type]
    qtbot.addWidget(made)
    made.resize(420, 640)
    made.show()
    qtbot.waitUntil(lambda: run.asked == [True])
    return made


def begin(model: RunModel, **values: Any) -> tuple[RunConfig, Tunables]:
    config, tunables = make_settings({"env": "Pendulum-v1", **values})
    model.handle(started(config, tunables))
    model.handle(
        progress(2_000, updates=1_000, exploration_noise=0.25, wall_s=1.0, tunables=tunables)
    )
    return config, tunables


def update(tunables: Tunables, *, twin: bool = True, moved: bool = True, **values: Any) -> Traced:
    names = [name for name in NETWORKS if twin or "critic2" not in name]
    step = {name: 0.5 if moved or name in ("critic1", "critic2") else 0.0 for name in names}
    numbers: dict[str, Any] = {
        "env_steps": 2_001,
        "updates": 1_002 if moved else 1_001,
        "single": False,
        "obs": np.array([0.1, 0.2, 0.3]),
        "action": np.array([0.4]),
        "reward": -6.25,
        "terminated": 0.0,
        "next_obs": np.array([-0.33, 0.5, 0.25]),
        "target_policy": np.array([0.16]),
        "next_action": np.array([0.15]),
        "noise": 0.155,
        "noise_clipped": 0.01,
        "target_q": (-5.732, -5.624)[: 1 + twin],
        "target_min": -5.803,
        "first_smaller": 0.64,
        "y": -11.9,
        "q": (-11.98, -11.96)[: 1 + twin],
        "critic_loss": (0.176, 0.113)[: 1 + twin],
        "policy": np.array([0.19] if moved else []),
        "actor_loss": 11.84 if moved else None,
    }
    changes = tuple(NetworkChange(network=name, step=step[name], weight=200.0) for name in names)
    return Traced(tunables=tunables, moved_actor=moved, changes=changes, **(numbers | values))


def shown(panel: AlgorithmPanel, name: str) -> tuple[str, str]:
    reading = panel.diagram.boxes[name].reading
    return reading.value, reading.note


def test_boxes_and_arrows_show_the_numbers_of_the_update(
    panel: AlgorithmPanel, model: RunModel, run: Asked
) -> None:
    _, tunables = begin(model)
    run.traced.emit(update(tunables))
    assert shown(panel, "act") == ("σ 0.25", "")
    assert shown(panel, "critic1_target") == ("−5.732", "Δ 0.25 %")
    assert shown(panel, "critic2_target")[0] == "−5.624"
    assert shown(panel, "minimum") == ("−5.803", "Q₁′ in 64 %")
    assert shown(panel, "y") == ("−11.9", f"r −6.25, γ {tunables.gamma:g}")
    assert shown(panel, "losses") == ("L₁ 0.176", "L₂ 0.113")
    assert shown(panel, "actor_step") == ("L 11.84", "every 2 updates")
    assert shown(panel, "critic_step")[0] == f"rate {format_tick(tunables.critic_lr)}"
    labels = panel.diagram.labels
    assert labels["next_obs"] == "s′ −0.33  0.5 …"
    assert labels["next_action"] == "ã 0.15"
    assert labels["minimum"] == f"min {format_number(-5.803)}"
    assert panel.message.text() == "Update 1,002 at step 2,001 moved all networks"


def test_between_two_moves_the_actor_waits(
    panel: AlgorithmPanel, model: RunModel, run: Asked
) -> None:
    _, tunables = begin(model)
    run.traced.emit(update(tunables, moved=False))
    assert shown(panel, "actor_step") == ("in 1 update", "every 2 updates")
    assert shown(panel, "average")[1] == "in 1 update"
    assert shown(panel, "actor") == ("", "unchanged")
    assert shown(panel, "critic1")[1] == "Δ 0.25 %"
    assert panel.message.text().endswith("moved the critics")


def test_ddpg_is_drawn_with_its_tricks_switched_off(
    panel: AlgorithmPanel, model: RunModel, run: Asked
) -> None:
    _, tunables = begin(model, algorithm="ddpg")
    off = {name: box.off for name, box in panel.diagram.boxes.items() if box.off}
    assert off == {
        "critic2": "off: one critic",
        "critic2_target": "off: one critic",
        "minimum": "off: Q₁′ as it is",
        "smooth": "off: ã = π′(s′)",
    }
    assert shown(panel, "actor_step") == ("", "no delay")
    run.traced.emit(update(tunables, twin=False))
    assert shown(panel, "losses") == ("L₁ 0.176", "")
    assert shown(panel, "actor_step")[1] == "no delay"
    assert panel.diagram.boxes["critic2"].off


def test_the_actors_step_tells_of_its_penalty_if_there_is_one(
    panel: AlgorithmPanel, model: RunModel, run: Asked
) -> None:
    numbers = panel.findChild(QWidget, "algorithm_numbers")
    panel.diagram.boxes["actor_step"].click()
    for penalty, told in ((0.0, " "), (0.5, "and λ mean π(s)² with λ = 0.5, not in L")):
        _, tunables = begin(model, action_penalty=penalty)
        run.traced.emit(update(tunables))
        assert numbers.text() == told


def test_tqc_is_drawn_with_what_it_does_instead(
    panel: AlgorithmPanel, model: RunModel, run: Asked
) -> None:
    _, tunables = begin(model, algorithm="tqc", dropped_quantiles=3)
    boxes = panel.diagram.boxes
    assert str(boxes["minimum"].box.title) == "7 Truncate"
    assert "climbs it, too" in boxes["critic2"].toolTip()
    assert climbed_critics(model.record.config) == ("critic1", "critic2")
    run.traced.emit(update(tunables))
    assert shown(panel, "minimum") == ("−5.803", f"all: {format_number(-5.678)}")
    assert panel.diagram.labels["minimum"] == f"z {format_number(-5.803)}"
    boxes["minimum"].click()
    numbers = panel.findChild(QWidget, "algorithm_numbers").text()
    assert numbers == "the largest 6 left out,  64 % of the others are Q₁′"
    begin(model)
    assert str(boxes["minimum"].box.title) == "7 Minimum"
    assert "never sees it" in boxes["critic2"].toolTip()


def test_tqc_that_leaves_out_nothing_does_not_truncate(
    panel: AlgorithmPanel, model: RunModel
) -> None:
    begin(model, algorithm="tqc", dropped_quantiles=0, twin_critics=False)
    off = {name: box.off for name, box in panel.diagram.boxes.items() if box.off}
    one = "off: one critic"
    assert off == {"critic2": one, "critic2_target": one, "minimum": "off: all are kept"}
    assert climbed_critics(model.record.config) == ("critic1",)


def test_a_run_of_another_algorithm_is_not_passed_off_as_td3(
    panel: AlgorithmPanel, model: RunModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    unseen = replace(ALGORITHMS["tqc"], tracer="")
    monkeypatch.setattr(algorithms, "ALGORITHMS", {**ALGORITHMS, "tqc": unseen})
    begin(model, algorithm="tqc")
    assert panel.message.text() == "This run trains with TQC; the picture is of TD3."


def test_only_an_open_panel_asks_for_updates(qtbot: Any, panel: AlgorithmPanel, run: Asked) -> None:
    panel.hide()
    qtbot.waitUntil(lambda: run.asked == [True, False])
    panel.show()
    qtbot.waitUntil(lambda: run.asked == [True, False, True])
    panel.shutdown()
    assert run.asked == [True, False, True, False]


def test_a_paused_run_is_stepped_and_no_other(panel: AlgorithmPanel, run: Asked) -> None:
    run.become(SessionState.RUNNING)
    assert not panel.step_button.isEnabled()
    assert "pause the run first" in panel.step_button.toolTip()
    run.become(SessionState.PAUSED)
    panel.step_button.click()
    assert run.asked[-1] == "step"


def test_a_step_asked_for_as_the_panel_opens_is_shown(
    panel: AlgorithmPanel, model: RunModel, run: Asked
) -> None:
    _, tunables = begin(model)
    panel.shutdown()
    run.traced.emit(update(tunables))
    assert panel.seen is None
    run.traced.emit(update(tunables, single=True))
    assert panel.seen is not None
    assert shown(panel, "y")[0]


def test_the_keyboard_reaches_every_box_and_its_text(qtbot: Any, panel: AlgorithmPanel) -> None:
    panel.activateWindow()
    reached, next_ones = {"act"}, ["act"]
    arrows = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
    while next_ones:
        name = next_ones.pop()
        for key in arrows:
            button = panel.diagram.boxes[name]
            button.setFocus()
            button.setChecked(True)
            qtbot.keyClick(button, key)
            (now,) = (n for n, each in panel.diagram.boxes.items() if each.isChecked())
            if now not in reached:
                reached.add(now)
                next_ones.append(now)
    assert reached == {box.name for box in BOXES}
    # Tab reaches the chosen one.
    assert panel.diagram.boxes[now].focusPolicy() & Qt.FocusPolicy.TabFocus
    for button in panel.diagram.boxes.values():
        assert button.accessibleName()
        button.click()
        assert str(button.box.about) == _label(panel, "algorithm_about")
        assert str(button.box.equation) in _label(panel, "algorithm_title")
        assert str(button.box.equation) in button.accessibleDescription()


def _label(panel: AlgorithmPanel, name: str) -> str:
    found = panel.findChild(QWidget, name)
    assert found is not None
    return found.text()


def test_boxes_do_not_overlap_at_any_usual_size(panel: AlgorithmPanel) -> None:
    for size in ((390, 560), (420, 660), (900, 700)):
        panel.resize(*size)
        panel.layout().activate()
        places = [button.geometry() for button in panel.diagram.boxes.values()]
        inside = panel.diagram.rect()
        for i, one in enumerate(places):
            assert inside.contains(one)
            assert not any(one.intersects(other) for other in places[i + 1 :])


def test_another_run_takes_the_numbers_away(
    panel: AlgorithmPanel, model: RunModel, run: Asked
) -> None:
    _, tunables = begin(model)
    run.traced.emit(update(tunables))
    begin(model)
    assert panel.seen is None
    assert shown(panel, "y") == ("", "")


@pytest.mark.slow
def test_a_run_of_the_window_is_watched_paused_and_stepped_through_a_cycle(
    qtbot: Any,
    window: Any,
    find: Callable[[str], Any],
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, trace = [], Control.trace
    monkeypatch.setattr(Control, "trace", lambda *args: asked.append(args[1]) or trace(*args))
    window.docks.open("algorithm")
    panel = window.panels.named("algorithm")
    config, tunables = tiny("Pendulum-v1", steps=100_000)
    window.controller.begin(NewRun(config=config, tunables=tunables, runs_dir=runs_dir))
    qtbot.waitUntil(lambda: panel.seen is not None, timeout=30_000)
    window.controller.pause()
    qtbot.waitUntil(lambda: window.controller.state is SessionState.PAUSED, timeout=30_000)
    seen = []
    for _ in range(4):
        with qtbot.waitSignal(window.controller.traced, timeout=10_000) as traced:
            qtbot.mouseClick(find("algorithm_step_button"), Qt.MouseButton.LeftButton)
        now: Traced = traced.args[0]
        seen.append(now)
        # The boxes show the values of this update.
        for name, value in (
            *zip(("critic1_target", "critic2_target"), now.target_q, strict=True),
            *zip(("critic1", "critic2"), now.q, strict=True),
            *(("minimum", now.target_min), ("y", now.y)),
        ):
            assert shown(panel, name)[0] == format_number(value)
        signs = ("L₁", "L₂")[: len(now.critic_loss)]
        losses = tuple(
            f"{sign} {format_tick(x)}" for sign, x in zip(signs, now.critic_loss, strict=True)
        )
        assert shown(panel, "losses") == losses
        if now.actor_loss is not None:
            assert shown(panel, "actor_step")[0] == f"L {format_number(now.actor_loss)}"
        for change in now.changes:
            moved = f"Δ {100.0 * change.step / change.weight:.2g} %" if change.step else "unchanged"
            assert shown(panel, change.network)[1] == moved
    assert [each.updates - seen[0].updates for each in seen] == [0, 1, 2, 3]
    assert [each.moved_actor for each in seen] == [each.updates % 2 == 0 for each in seen]
    assert panel.seen is seen[-1]
    assert all(each.single for each in seen)
    assert asked == [True]
    window.docks.close("algorithm")
    qtbot.waitUntil(lambda: asked == [True, False], timeout=10_000)
