"""Lessons are data: the bundled ones make sense, and others are refused with a sentence."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.config import RunConfig, Tunables, specs, to_dict
from td3core.errors import RequestError
from td3core.experiments.lessons import Lesson, load_lessons, parse_lesson

RUNS = json.loads((Path(__file__).parents[2] / "benchmarks" / "lessons.json").read_text())
RETURN = re.compile(r"-(?:\d{1,3}(?:,\d{3})+|\d{2,3})(?![\d.])")
BIAS = re.compile(r"-?\d\.\d\d(?!\d)")
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
    # They are read in the window, which has labels in place of keys.
    texts = " ".join(map(str, (lesson.question, lesson.text, lesson.look, lesson.seen)))
    keys = {name for kind in (RunConfig, Tunables) for name, _ in specs(kind) if "_" in name}
    assert not {key for key in keys if key in texts}


def measured(runs: list[dict[str, Any]], at: float | None = None) -> set[str]:
    """Return every evaluation and bias of these runs as a text writes it, perhaps of one step."""
    found = set()
    for run in runs:
        for step, mean, bias in zip(run["env_steps"], run["mean"], run["bias"], strict=True):
            if at in (None, step):
                found |= {f"{mean:,.0f}", f"{bias:.2f}"}
    return found


@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.name)
def test_the_numbers_of_a_bundled_lesson_are_those_of_its_runs(lesson: Lesson) -> None:
    runs = [run for run in RUNS if run["lesson"] == lesson.name]
    assert {run["seed"] for run in runs} == set(lesson.seeds)
    assert {run["arm"] for run in runs} == {arm.name for arm in lesson.arms}
    settings = set(re.findall(r"\d\.\d+", " ".join(arm.name for arm in lesson.arms)))
    checked = 0
    for sentence in re.split(r"\.\s", " ".join(str(lesson.seen).split()) + " "):
        told = {*RETURN.findall(sentence), *BIAS.findall(sentence)} - settings
        assert told <= measured(runs), sentence
        for step, after in re.findall(r"[Aa]t ([\d,]+) steps([^;]*)", sentence):
            told = {*RETURN.findall(after), *BIAS.findall(after)} - settings
            assert told <= measured(runs, float(step.replace(",", ""))), sentence
            checked += len(told)
        for value, step in re.findall(r"(-[\d,]+) at ([\d,]+) steps", sentence):
            assert value in measured(runs, float(step.replace(",", ""))), sentence
            checked += 1
    assert checked or "at the end" in str(lesson.seen)


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
