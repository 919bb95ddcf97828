"""Number fields: any usual notation is read, and wrong text stays shown with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from studio.formatting import format_setting
from studio.widgets.number_box import NumberBox, WholeNumberBox
from studio.widgets.number_text import read_number
from studio.widgets.setting_fields import make_field
from td3core.config import RunConfig, Tunables, default, spec
from td3core.config.spec import Spec
from td3core.errors import RequestError
from td3core.text import NO_TEXT, Text
from tests.support.stretched import OPEN

MILLION = ["1000000", "1e6", "1E6", "1 000 000", "1,000,000", "1_000_000", "1\u202f000\u00a0000"]


def type_in(qtbot, box, text: str) -> None:
    """Replace the text of a box and press Enter, as a user does."""
    box.selectAll()
    if text.isascii():
        qtbot.keyClicks(box, text)
    else:
        # No key has such a space; it comes from the clipboard.
        box.lineEdit().insert(text)
    qtbot.keyClick(box, Qt.Key.Key_Return)


@pytest.fixture
def steps(qtbot) -> WholeNumberBox:
    box = WholeNumberBox(1, 1e10)
    qtbot.addWidget(box)
    box.setValue(300_000)
    return box


@pytest.fixture
def rate(qtbot) -> NumberBox:
    box = NumberBox(spec(Tunables, "actor_lr"), whole=False)
    qtbot.addWidget(box)
    box.setValue(3e-4)
    return box


@pytest.mark.parametrize("text", MILLION)
def test_a_million_is_read_in_every_usual_notation(qtbot, steps, text):
    type_in(qtbot, steps, text)
    assert steps.entered() == 1_000_000
    assert steps.lineEdit().text() == "1,000,000"


@pytest.mark.parametrize(
    ("text", "value"), [("2e4", 20_000), ("24,000", 24_000), ("+12", 12), (" 7 ", 7), ("5.0", 5)]
)
def test_whole_numbers_are_read(qtbot, steps, text, value):
    type_in(qtbot, steps, text)
    assert steps.entered() == value


def test_more_than_two_billion_steps_are_shown_and_read(qtbot, steps):
    steps.setValue(5_000_000_000)
    assert (steps.text(), steps.entered()) == ("5,000,000,000", 5_000_000_000)
    type_in(qtbot, steps, "6e9")
    assert steps.entered() == 6_000_000_000


@pytest.mark.parametrize(("text", "value"), [("0,01", 0.01), ("1e-3", 1e-3), (".5", 0.5), ("1", 1)])
def test_decimals_are_read(qtbot, rate, text, value):
    type_in(qtbot, rate, text)
    assert rate.entered() == pytest.approx(value)


@pytest.mark.parametrize("text", ["24,00", "2.5", "abc", "", "1e99", "-5", "nan", "inf", "0"])
def test_a_wrong_whole_number_stays_on_show_and_is_refused(qtbot, steps, text):
    changes = []
    steps.valueChanged.connect(changes.append)
    type_in(qtbot, steps, text) if text else steps.lineEdit().clear()
    qtbot.keyClick(steps, Qt.Key.Key_Return)
    assert steps.lineEdit().text() == text
    assert steps.property("invalid") is True
    with pytest.raises(RequestError, match=" is "):
        steps.entered()
    assert steps.value() == 300_000
    assert changes == []


@pytest.mark.parametrize("text", ["7", "x", "1,2,3", "0,1,2"])
def test_a_wrong_decimal_stays_on_show_when_the_focus_leaves(qtbot, rate, text):
    other = QLineEdit()
    qtbot.addWidget(other)
    rate.selectAll()
    qtbot.keyClicks(rate, text)
    rate.interpretText()
    assert rate.lineEdit().text() == text
    assert rate.value() == 3e-4
    with pytest.raises(RequestError):
        rate.entered()


def test_the_reason_names_the_limit(qtbot, rate):
    type_in(qtbot, rate, "7")
    assert rate.accessibleDescription() == "7 is above the largest allowed value, 1."


def test_correcting_the_text_removes_the_mark(qtbot, steps):
    type_in(qtbot, steps, "2 5 x")
    type_in(qtbot, steps, "300000")
    assert steps.property("invalid") is False
    assert steps.entered() == 300_000
    assert steps.accessibleDescription() == ""


@pytest.mark.parametrize("kind", ["steps", "rate"])
def test_a_value_that_is_set_replaces_wrong_text_even_if_it_is_the_same(qtbot, request, kind):
    box = request.getfixturevalue(kind)
    shown = box.lineEdit().text()
    type_in(qtbot, box, "?")
    box.setValue(box.value())
    assert box.lineEdit().text() == shown
    assert box.entered() == box.value()


def test_the_word_for_zero_is_read_and_shown(qtbot):
    box = WholeNumberBox(0, 1e9, Text("never"))
    qtbot.addWidget(box)
    box.setValue(5)
    type_in(qtbot, box, "never")
    assert box.entered() == 0
    type_in(qtbot, box, "?")
    box.setValue(0)
    assert box.lineEdit().text() == "never"
    type_in(qtbot, box, "0")
    assert (box.entered(), box.lineEdit().text()) == (0, "never")


def test_wrong_text_where_a_word_stands_for_zero_stays_and_is_refused(qtbot):
    box = WholeNumberBox(0, 1e9, Text("automatic"))
    qtbot.addWidget(box)
    assert box.text() == "automatic"
    type_in(qtbot, box, "4x")
    for _ in range(2):
        assert (box.text(), box.property("invalid")) == ("4x", True)
        with pytest.raises(RequestError, match="4x is not a number"):
            box.entered()
    box.setValue(0)
    assert (box.text(), box.property("invalid"), box.entered()) == ("automatic", False, 0)
    qtbot.keyClick(box, Qt.Key.Key_Up)
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert (box.text(), box.entered()) == ("automatic", 0)


def test_wrong_text_where_no_limit_reads_as_off_stays_and_is_refused(qtbot):
    box = NumberBox(spec(Tunables, "reward_floor"), whole=False)
    qtbot.addWidget(box)
    box.setValue(-1e9)
    type_in(qtbot, box, "of")
    assert (box.text(), box.property("invalid")) == ("of", True)
    with pytest.raises(RequestError, match="of is not a number"):
        box.entered()
    assert box.value() == -1e9


def test_arrow_keys_step_from_the_value_and_remove_wrong_text(qtbot, steps):
    type_in(qtbot, steps, "?")
    qtbot.keyClick(steps, Qt.Key.Key_Up)
    assert steps.entered() > 300_000
    assert steps.property("invalid") is False


@pytest.mark.parametrize(
    ("name", "value", "up", "down"),
    [
        ("action_penalty", 10.0, 10.1, 9.9),
        ("action_penalty", 1e6, 1e6, 990_000.0),
        ("reward_floor", -500.0, -495.0, -505.0),
        ("reward_floor", 30.0, 30.3, 29.7),
        ("gamma", 0.99995, 0.9999505, 0.9999495),
        ("gamma", 1.0, 1.0, 0.9999),
        ("actor_lr", 1e-7, 1.01e-7, 0.99e-7),
        ("actor_lr", 0.0, 1e-6, 0.0),
    ],
)
def test_an_arrow_key_moves_a_value_beyond_the_slider_by_little(qtbot, name, value, up, down):
    box = NumberBox(spec(Tunables, name), whole=False)
    qtbot.addWidget(box)
    for key, wanted in ((Qt.Key.Key_Up, up), (Qt.Key.Key_Down, down)):
        box.setValue(value)
        qtbot.keyClick(box, key)
        assert box.value() == pytest.approx(wanted, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("value", "up"), [(0.995, 1.005), (-20.0, -19.8), (0.0, 0.01)])
def test_an_arrow_key_moves_a_number_without_limits(qtbot, value, up):
    box = NumberBox(Spec(label=NO_TEXT, help=NO_TEXT), whole=False)
    qtbot.addWidget(box)
    box.setValue(value)
    qtbot.keyClick(box, Qt.Key.Key_Up)
    assert box.value() == pytest.approx(up)


def test_layers_that_cannot_be_read_are_marked(qtbot):
    field = make_field("actor_hidden", spec(RunConfig, "actor_hidden"), default("actor_hidden"))
    qtbot.addWidget(field.widget)
    assert isinstance(field.widget, QLineEdit)
    field.widget.setText("256, x")
    qtbot.keyClick(field.widget, Qt.Key.Key_Return)
    assert field.widget.property("invalid") is True
    field.widget.setText("64, 64")
    qtbot.keyClick(field.widget, Qt.Key.Key_Return)
    assert field.widget.property("invalid") is False
    assert field.read() == (64, 64)


@given(st.integers(-(10**15), 10**15))
def test_every_whole_number_is_read_from_its_usual_forms(value):
    for text in (f"{value}", f"{value:,}", f"{value:_}", f"{value:,}".replace(",", " ")):
        assert read_number(text, whole=True) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_decimal_is_read_with_point_and_comma(value):
    assert read_number(repr(value), whole=False) == value
    assert read_number(repr(value).replace(".", ","), whole=False) == value


@given(st.text(), st.booleans())
def test_any_text_is_a_number_or_refused_with_a_reason(text, whole):
    try:
        value = read_number(text, whole=whole)
    except ValueError as problem:
        reason = str(problem)
    else:
        reason = "a number" if value == value else "nan"
    assert reason in ("a number", "not a number", "not a whole number")


def test_a_limit_that_limits_nothing_reads_as_off(qtbot) -> None:
    box = NumberBox(spec(Tunables, "reward_floor"), whole=False)
    qtbot.addWidget(box)
    box.setValue(-1e9)
    assert box.text() == "off"
    for typed, value in (("-5", -5.0), ("OFF", -1e9), ("-1e6", -1e6)):
        box.lineEdit().setText(typed)
        box.interpretText()
        assert box.entered() == value
    assert format_setting(spec(Tunables, "reward_floor"), -1e9) == "off"
    assert format_setting(spec(RunConfig, "eval_interval"), 0) == "never"


def test_a_word_for_a_value_is_shown_in_the_language_and_read_in_it_or_in_english(
    qtbot, stretched
) -> None:
    box = NumberBox(spec(Tunables, "reward_floor"), whole=False)
    qtbot.addWidget(box)
    box.setValue(-1e9)
    shown = box.text()
    assert shown.startswith(f"{OPEN}off")
    for word in ("off", shown):
        box.setValue(-5)
        box.lineEdit().setText(word)
        assert (box.entered(), box.text()) == (-1e9, shown)
    assert format_setting(spec(RunConfig, "eval_interval"), 0).startswith(f"{OPEN}never")
    assert format_setting(spec(RunConfig, "twin_critics"), True).startswith(f"{OPEN}on")
    assert format_setting(spec(RunConfig, "actor_hidden"), ()).startswith(f"{OPEN}none")


@given(st.floats(1e-12, 1.0))
def test_a_box_that_is_not_edited_keeps_every_digit(qapp, value):
    box = NumberBox(spec(Tunables, "actor_lr"), whole=False)
    box.setValue(value)
    value = max(value, box.minimum())
    assert box.value() == value
    # As when the focus leaves it, or when Train reads it.
    box.interpretText()
    assert box.entered() == value
