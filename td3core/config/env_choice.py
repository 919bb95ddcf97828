"""An environment as plain data: its identifier and arguments.

It is part of settings and checkpoints, and is sent to other processes. Nothing here makes an
environment or opens a file that an argument names.
"""

import json
from dataclasses import dataclass
from typing import Any

from td3core.config import piecewise
from td3core.config.piecewise import PiecewiseSchedule
from td3core.config.spec import option_field
from td3core.errors import RequestError, brief, message_of
from td3core.text import SettingName, Text

RESERVED = ("id", "render_mode", "disable_env_checker")
"""Arguments of ``gymnasium.make`` that the studio sets itself."""

REPEAT = "action_repeat"
"""An argument for any environment, handled by the studio: how often each action is taken. A number,
or the text of a schedule of numbers over the steps of a run."""
MOST_REPEATS = 100
_REPEAT_FIELD = option_field(REPEAT, int, low=1, high=MOST_REPEATS)
"""As a setting, so that its schedule is read like that of any other."""


@dataclass(frozen=True, slots=True)
class EnvChoice:
    """An environment to make with :func:`td3core.envs.make.make_env`.

    Raises:
        RequestError: ``args`` is not the text of a JSON object.
    """

    env_id: str
    args: str = ""
    """Keyword arguments for ``gymnasium.make`` as a JSON object; empty for none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", canonical_args(self.args))

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments of the environment as Python values."""
        return {name: value for name, value in parse_args(self.args).items() if name != REPEAT}

    @property
    def action_repeat(self) -> int:
        """How many times each action is taken; with a schedule, in the first step of a run."""
        repeat: int = parse_args(self.at(1).args).get(REPEAT, 1)
        return repeat

    @property
    def fewest_repeats(self) -> int:
        """How many times each action is taken at least, which makes the longest episodes."""
        repeat = parse_args(self.args).get(REPEAT, 1)
        return repeat if isinstance(repeat, int) else int(min(_repeat_schedule(repeat).values))

    @property
    def simulated(self) -> "EnvChoice":
        """The environment without repeated actions, which are not its own."""
        return EnvChoice(self.env_id, json.dumps(self.kwargs))

    def at(self, step: int) -> "EnvChoice":
        """Return the environment in step number ``step`` of a run, counted from 1.

        It differs if :attr:`action_repeat` follows a schedule.
        """
        args = parse_args(self.args)
        repeat = args.get(REPEAT, 1)
        if isinstance(repeat, int):
            return self
        # Its points are no percentages: the length of the run does not matter.
        now = int(_repeat_schedule(repeat).at(step, 0))
        return EnvChoice(self.env_id, json.dumps(args | {REPEAT: now}))


def _repeat_schedule(text: str) -> PiecewiseSchedule:
    return piecewise.parse(_REPEAT_FIELD, text)


def canonical_args(text: str) -> str:
    """Return the text of a JSON object in canonical form; empty for an empty object.

    Raises:
        RequestError: the text is not a JSON object.
    """
    found = parse_args(text)
    repeat = found.get(REPEAT)
    if isinstance(repeat, str):
        found[REPEAT] = _repeat_schedule(repeat).text
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False) if found else ""
    except ValueError:
        # Python parses 1e999 as infinity, which strict JSON cannot represent.
        raise _refusal(text, Text("a number is too large")) from None


def parse_args(text: str) -> dict[str, Any]:
    """Read arguments from the text of a JSON object; empty text means none.

    Raises:
        RequestError: it is not, or an argument is not allowed; the message gives the reason.
    """
    if not isinstance(text, str):
        raise _refusal(text, Text("it is not text"))
    if not text.strip():
        return {}
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        reason = Text(
            "{problem} at character {position}",
            problem=problem.msg.lower(),
            position=problem.pos + 1,
        )
        raise _refusal(text, reason) from None
    except RecursionError:
        raise _refusal(text, Text("it is nested too deeply")) from None
    except ValueError as problem:
        raise _refusal(text, message_of(problem)) from None
    if not isinstance(found, dict):
        raise _refusal(text, _NOT_AN_OBJECT[type(found)])
    for name in RESERVED:
        if name in found:
            raise _refusal(text, Text("{name} is set by the studio", name=name))
    if not _is_repeat(found.get(REPEAT, 1)):
        reason = Text(
            "{name} is neither a whole number from 1 to {most} nor a schedule of such numbers over"
            " steps, such as {example}",
            name=REPEAT,
            most=MOST_REPEATS,
            example='"2, 1@100000"',
        )
        raise _refusal(text, reason)
    return found


def _is_repeat(value: object) -> bool:
    if not isinstance(value, str):
        return type(value) is int and 1 <= value <= MOST_REPEATS
    # Environments are made without knowledge of the length of the run.
    if "@" not in value or "%" in value:
        return False
    try:
        _repeat_schedule(value)
    except RequestError:
        return False
    return True


_NOT_AN_OBJECT: dict[type, Text] = {
    list: Text("it is a list"),
    str: Text("it is a string"),
    int: Text("it is a number"),
    float: Text("it is a number"),
    bool: Text("it is true or false"),
    type(None): Text("it is null"),
}


def _refuse_constant(name: str) -> None:
    raise RequestError("{name} is not a JSON number", name=name)


def _refusal(text: object, reason: Text) -> RequestError:
    return RequestError(
        "{key} cannot be {value}: {reason}. Use a JSON object such as {example}.",
        key=SettingName("env_args"),
        value=brief(repr(text), 300),
        reason=reason,
        example='{"xml_file": "/path/to/ant.xml"}',
    )
