"""Live settings that are no numbers: a switch and a choice behave as a slider does."""

import json

import pytest
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QSlider

from studio.formatting import format_value
from studio.live import live_panel
from studio.live.live_panel import LivePanel
from studio.session import markers
from studio.session.history import read_history
from studio.session.markers import Marker
from studio.theme.theme import load_theme
from td3core.config import changes
from td3core.runs import reader
from tests.studio.fake_runs import make_run
from tests.studio.live.requests import Requests
from tests.support.live_choices import ChoiceTunables, declare_choices


@pytest.fixture
def panel(qtbot, requests: Requests, monkeypatch) -> LivePanel:
    declare_choices(monkeypatch)
    monkeypatch.setattr(live_panel, "Tunables", ChoiceTunables)
    made = LivePanel(requests)
    qtbot.addWidget(made)
    made.set_theme(load_theme("light"))
    made.set_steered(True)
    made.show()
    return made


def test_a_switch_is_a_check_box_and_a_choice_a_list(panel, look) -> None:
    assert isinstance(look("field_mirrored"), QCheckBox)
    combo = look("field_noise_kind")
    assert isinstance(combo, QComboBox)
    assert [combo.itemText(i) for i in range(combo.count())] == ["gaussian", "uniform", "pink"]
    for name in ("mirrored", "noise_kind"):
        assert panel.findChild(QSlider, f"slider_{name}") is None
        assert look(f"field_{name}").accessibleName()
    assert "<i>one of gaussian, uniform, pink</i>" in look("field_noise_kind").toolTip()
    assert "<i>true or false</i>" in look("field_mirrored").toolTip()
    assert look("slider_tau").accessibleName() == "Target averaging slider"


@pytest.mark.parametrize(
    ("name", "act", "value", "words"),
    [
        ("mirrored", lambda field: field.click(), True, "m off → on"),
        ("noise_kind", lambda field: field.setCurrentText("pink"), "pink", "gaussian → pink"),
    ],
)
def test_a_change_is_pending_acknowledged_and_undone(
    panel, look, requests, name, act, value, words
) -> None:
    act(look(f"field_{name}"))
    assert getattr(requests.made[-1], name) == value
    assert panel.pending == {name}
    assert look(f"label_{name}").text().endswith("…")
    panel.acknowledge(requests.acknowledged())
    assert panel.pending == frozenset()
    assert not look(f"label_{name}").text().endswith("…")
    assert look("last_change").text().endswith(words)
    panel.undo()
    assert requests.made[-1] == ChoiceTunables()
    assert panel.tunables() == ChoiceTunables()
    assert not panel.can_undo


def test_a_refused_change_shows_the_old_value_again(panel, look, requests) -> None:
    look("field_mirrored").click()
    panel.acknowledge(requests.acknowledged(ChoiceTunables()))
    assert not look("field_mirrored").isChecked()
    assert len(requests.made) == 1


def test_the_reset_button_restores_the_default(panel, look, requests) -> None:
    panel.set_steered(False)
    panel.show_defaults(ChoiceTunables(mirrored=True, noise_kind="uniform"))
    panel.set_steered(True)
    assert not requests.made
    for name in ("mirrored", "noise_kind"):
        assert not look(f"reset_{name}").isEnabled()
    look("field_mirrored").click()
    look("field_noise_kind").setCurrentText("pink")
    assert look("reset_mirrored").toolTip() == "Reset to on"
    assert look("reset_noise_kind").toolTip() == "Reset to uniform"
    for name in ("mirrored", "noise_kind"):
        look(f"reset_{name}").click()
    assert requests.made[-1] == ChoiceTunables(mirrored=True, noise_kind="uniform")
    assert not look("reset_mirrored").isEnabled()


def test_a_switch_turned_on_and_off_at_once_leaves_nothing_to_undo(panel, look, requests) -> None:
    look("field_mirrored").click()
    look("field_mirrored").click()
    assert [made.mirrored for made in requests.made] == [True, False]
    assert not panel.can_undo


def test_names_and_controls_are_not_cut_off_in_the_usual_width(qtbot, panel, look) -> None:
    panel.resize(292, 800)
    for name in ("mirrored", "noise_kind"):
        label, field = look(f"label_{name}"), look(f"field_{name}")
        assert isinstance(label, QLabel)
        qtbot.waitUntil(lambda label=label: label.width() >= label.sizeHint().width())
        assert field.width() >= field.minimumSizeHint().width()
        assert field.geometry().right() <= look("spin_tau").geometry().right()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "on"),
        (False, "off"),
        ("relu", "relu"),
        (0.005, "0.005"),
        (256, "256"),
        (3e-4, "0.0003"),
    ],
)
def test_values_of_every_type_are_written_as_people_do(value, text) -> None:
    assert format_value(value) == text


def test_a_marker_names_a_change_of_any_kind(monkeypatch) -> None:
    monkeypatch.setattr(markers, "Tunables", ChoiceTunables)
    texts = [
        Marker(env_steps=1, name=name, old=old, new=new, changed_at=0.0).text
        for name, old, new in changes(ChoiceTunables(), ChoiceTunables(mirrored=True, tau=0.5))
    ]
    assert texts == ["τ 0.005 → 0.5", "m off → on"]


def test_an_opened_run_shows_its_changes_in_the_type_of_the_setting(runs_dir, monkeypatch) -> None:
    declare_choices(monkeypatch, reader)
    run = make_run(runs_dir, noise_kind="uniform")
    lines = [("mirrored", False, True), ("noise_kind", "uniform", "pink"), ("policy_delay", 2, 3.0)]
    with run.journal_file.open("a") as file:
        for name, old, new in lines:
            entry = {"step": 600, "field": name, "old": old, "new": new, "time": "t"}
            file.write(json.dumps(entry) + "\n")
    record = read_history(run.path, lambda: False).record
    assert [(each.name, each.old, each.new) for each in record.journal.markers] == lines
    assert [type(each.new) for each in record.journal.markers] == [bool, str, int]
    now = record.progress.tunables
    assert now == ChoiceTunables(mirrored=True, noise_kind="pink", policy_delay=3)
