"""Lessons are data: the bundled ones make sense, and others are refused with a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.config import to_dict
from td3core.errors import RequestError
from td3core.experiments.lessons import Lesson, load_lessons, parse_lesson

LESSON = """
order = 1
title = "No delay"
question = "Why?"
environment = "Pendulum-v1"
steps = 2_000
seeds = "3, 5"
text = "a"
look = "b"
seen = "c"

[settings]
gamma = 0.9

[[arms]]
name = "with"

[[arms]]
name = "without"
settings = { policy_delay = 1 }
"""


def test_the_arms_are_the_preset_with_what_all_share_and_their_own() -> None:
    found = parse_lesson("no_delay", LESSON)
    assert [arm.name for arm in found.arms] == ["with", "without"]
    assert [arm.tunables.policy_delay for arm in found.arms] == [2, 1]
    assert [arm.tunables.gamma for arm in found.arms] == [0.9, 0.9]
    assert [arm.config.steps for arm in found.arms] == [2_000, 2_000]
    assert found.arms[0].config.actor_hidden == (64, 64)
    assert (found.seeds, found.steps) == ((3, 5), 8_000)


@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.name)
def test_the_arms_of_a_bundled_lesson_differ_and_its_texts_are_there(lesson: Lesson) -> None:
    settings = [to_dict(arm.config) | to_dict(arm.tunables) for arm in lesson.arms]
    assert all(one != other for one in settings for other in settings if one is not other)
    assert all((lesson.title, lesson.question, lesson.text, lesson.look, lesson.seen))
    assert len(lesson.seeds) >= 3


def test_the_bundled_lessons_have_an_order() -> None:
    assert [lesson.order for lesson in load_lessons()] == list(range(1, len(load_lessons()) + 1))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('title = "No delay"', "", "title is missing"),
        ("order = 1", "colour = 1", "colour is unknown"),
        ("policy_delay", "policy_delayed", "policy_delayed"),
        ('seeds = "3, 5"', 'seeds = "3, 3"', "3"),
        ("steps = 2_000", 'steps = "many"', "steps"),
        ('[[arms]]\nname = "with"\n', "", "nothing to compare"),
    ],
)
def test_a_lesson_that_makes_no_sense_is_refused_with_the_reason(
    old: str, new: str, reason: str
) -> None:
    assert old in LESSON
    with pytest.raises(RequestError, match=reason):
        parse_lesson("no_delay", LESSON.replace(old, new))


@given(st.text())
def test_any_text_is_a_lesson_or_refused(text: str) -> None:
    with pytest.raises(RequestError):
        parse_lesson("some", text)
