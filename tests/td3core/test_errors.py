"""Messages keep their parts, wherever they go."""

import copy
import errno
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from td3core.cli.interrupts import interrupts_stop
from td3core.envs.agent_view import close_quietly
from td3core.errors import (
    MessageError,
    RequestError,
    RunError,
    brief,
    file_reason,
    interrupt,
    message_of,
    quoted,
    require_no_interrupt,
    traceback_of,
    unknown_name,
    unreadable,
    unwritable,
)
from td3core.protocol.control import Control
from td3core.text import Text
from tests.support.stretched import INSIDE, OPEN

TEMPLATE = "{name} cannot be {value:g}; it must be {allowed}."
ALLOWED = Text("a number from {low:g} to {high:g}", low=0.0, high=1.0)
WHOLE = Text(TEMPLATE, name="tau", value=7.0, allowed=ALLOWED)
GERMAN = {
    TEMPLATE: "{name} kann nicht {value:g} sein, nur {allowed}.",
    ALLOWED.template: "eine Zahl von {low:g} bis {high:g}",
}


def translated(message: Text) -> str:
    """Translate as a front end would: by the template, and values that are messages too."""
    values = {k: translated(v) if isinstance(v, Text) else v for k, v in message.values.items()}
    template = GERMAN.get(message.template, message.template)
    return template.format(**values) if values else template


def test_a_message_is_the_sentence_and_knows_its_template_and_values() -> None:
    assert str(WHOLE) == "tau cannot be 7; it must be a number from 0 to 1."
    assert WHOLE.template == TEMPLATE
    assert WHOLE.values == {"name": "tau", "value": 7.0, "allowed": ALLOWED}


def test_a_message_can_be_translated_by_its_template() -> None:
    assert translated(WHOLE) == "tau kann nicht 7 sein, nur eine Zahl von 0 bis 1."
    assert translated(Text("Not known.")) == "Not known."


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_a_message_stays_whole_when_pickled_or_copied(again: Any) -> None:
    found = again(WHOLE)
    assert type(found) is Text
    assert (found, found.template, found.values) == (WHOLE, WHOLE.template, WHOLE.values)
    assert found.values["allowed"].template == ALLOWED.template


@pytest.mark.parametrize("text", ["{", "}", "{x}", "{0}", "{}", "{x!r:>9}"])
def test_braces_in_values_and_in_a_template_without_values_stay(text: str) -> None:
    assert str(Text(text)) == text
    assert str(Text("a {value} b", value=text)) == f"a {text} b"
    assert str(quoted(text)) == text
    assert str(Text("{{{value}}}", value=1)) == "{1}"


@pytest.mark.parametrize("values", [{"nome": "tau"}, {"other": 1}])
def test_a_template_with_a_field_that_has_no_value_is_a_programming_error(
    values: dict[str, Any],
) -> None:
    with pytest.raises(KeyError, match="name"):
        str(Text("{name}", **values))


@pytest.mark.parametrize("kind", [MessageError, RequestError, RunError])
def test_an_error_carries_its_message_also_to_another_process(kind: type[MessageError]) -> None:
    one = kind("{name} is missing.", name="env")
    for problem in (one, pickle.loads(pickle.dumps(one)), kind(one.message)):
        assert type(problem) is kind
        assert str(problem) == str(problem.message) == "env is missing."
        assert problem.message.values == {"name": "env"}


def test_an_error_of_other_software_is_quoted_as_a_value() -> None:
    found = message_of(ValueError("odd {thing}"))
    assert (str(found), found.template) == ("odd {thing}", "{text}")
    assert message_of(RequestError("{x}", x=1)).values == {"x": 1}


def test_a_key_that_a_file_lacks_is_said_to_be_missing() -> None:
    assert str(file_reason(KeyError("schema"))) == "'schema' is missing"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (OSError(28, os.strerror(28)), Text("No space left on device")),
        (OSError(28, "The disk of the film is full."), "The disk of the film is full"),
        (OSError("the picture could not be written."), "the picture could not be written"),
        (OSError(), "OSError"),
    ],
)
def test_why_a_file_cannot_be_written_is_said_in_words_also_without_a_number(
    problem: OSError, reason: str | Text
) -> None:
    said = unwritable(Path("plots/a.png"), problem).message
    assert said.values == {"path": str(Path("plots/a.png")), "reason": reason}
    assert str(said).endswith(f"a.png cannot be written: {reason}.")


@pytest.mark.parametrize("name", ["ENOENT", "EACCES", "ENOSPC", "EROFS", "EISDIR", "EEXIST"])
def test_a_usual_reason_of_the_operating_system_is_translated(stretched: None, name: str) -> None:
    number = getattr(errno, name)
    assert str(file_reason(OSError(number, os.strerror(number)))).startswith(OPEN)


def test_a_file_that_is_not_utf_8_is_said_to_be_no_text() -> None:
    problem = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    said = unreadable(Path("a.toml"), problem).message
    assert str(said) == "a.toml cannot be read: it is not UTF-8 text."


def test_an_unknown_name_is_answered_with_the_nearest_or_with_all() -> None:
    known = ["alpha", "alphb", "beta"]
    one, several, none = (
        unknown_name("There is no preset called {name}.", name, known)
        for name in ("bete", "alph", "xyz")
    )
    assert str(one) == "There is no preset called 'bete'. Did you mean beta?"
    assert str(several).endswith("Did you mean one of these: alphb, alpha?")
    assert str(none) == "There is no preset called 'xyz'. Known: alpha, alphb, beta."


def test_a_part_of_a_long_name_finds_it() -> None:
    known = ["BipedalWalker-v3", "BipedalWalker-v3-tqc", "Walker2d-v5-tqc"]
    said = str(unknown_name("There is no preset called {name}.", "TQC", known))
    assert said.endswith("Did you mean one of these: BipedalWalker-v3-tqc, Walker2d-v5-tqc?")
    assert "Known: " in str(unknown_name("There is no preset called {name}.", "-v", known))


def test_each_kind_of_unknown_name_has_a_sentence_of_its_own_to_translate(stretched: None) -> None:
    problem = unknown_name("There is no field of {where} called {name}.", "lo", ["low"], where="x")
    assert INSIDE.sub("", str(problem)) == "x'lo'. low?"
    assert problem.message.english == "There is no field of x called 'lo'. Did you mean low?"


def test_a_long_text_is_cut_and_kept_on_one_line() -> None:
    assert brief("a\n  b\tc") == "a b c"
    assert brief("x" * 300) == "x" * 200 + "…"
    assert brief(ValueError("abc"), 2) == "ab…"


def test_the_traceback_of_a_run_error_is_that_of_its_cause() -> None:
    assert traceback_of(RunError("Stopped.")) == ""
    try:
        try:
            raise ZeroDivisionError("the joint broke")
        except ZeroDivisionError as cause:
            raise RunError("It failed.") from cause
    except RunError as problem:
        found = traceback_of(problem)
    assert found.rstrip().endswith("ZeroDivisionError: the joint broke")
    assert "It failed" not in found


def test_an_error_that_a_ctrl_c_was_made_into_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    require_no_interrupt(OSError("not a picture"))
    monkeypatch.setattr(interrupt, "raised", True)
    with pytest.raises(KeyboardInterrupt):
        require_no_interrupt(OSError("not a picture"))


def test_a_run_that_was_interrupted_ends_so_whatever_comes_of_it() -> None:
    def interrupted_run() -> None:
        with interrupts_stop(Control()):
            # As the handler of a second Ctrl-C does.
            interrupt.raised = True
            raise RequestError("A package is missing.")

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted_run()
        assert not interrupt.raised
    finally:
        interrupt.raised = False


class Failing:
    def __init__(self, problem: BaseException) -> None:
        self.problem = problem

    def close(self) -> None:
        raise self.problem


def test_an_interrupt_that_is_under_way_does_not_keep_other_environments_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(interrupt, "raised", True)
    for problem in (RuntimeError("no window"), SystemExit(1)):
        close_quietly(Failing(problem))  # type: ignore[arg-type]
    assert "no window" in caplog.text
    with pytest.raises(KeyboardInterrupt):
        close_quietly(Failing(KeyboardInterrupt()))  # type: ignore[arg-type]
