"""An environment as plain data: its identifier and arguments.

It is part of settings and checkpoints, and is sent to other processes. Nothing here makes an
environment or opens a file that an argument names.
"""

import json
from dataclasses import dataclass
from typing import Any

from td3core.errors import RequestError, brief, message_of
from td3core.text import SettingName, Text

RESERVED = ("id", "render_mode", "disable_env_checker")
"""Arguments of ``gymnasium.make`` that the studio sets itself."""

REPEAT = "action_repeat"
"""An argument for any environment, handled by the studio: how often each action is taken."""
MOST_REPEATS = 100


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
        """How many times each action is taken."""
        repeat: int = parse_args(self.args).get(REPEAT, 1)
        return repeat


def canonical_args(text: str) -> str:
    """Return the text of a JSON object in canonical form; empty for an empty object.

    Raises:
        RequestError: the text is not a JSON object.
    """
    found = parse_args(text)
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
    repeat = found.get(REPEAT, 1)
    if type(repeat) is not int or not 1 <= repeat <= MOST_REPEATS:
        reason = Text(
            "{name} is not a whole number from 1 to {most}", name=REPEAT, most=MOST_REPEATS
        )
        raise _refusal(text, reason)
    return found


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
