"""Which environment is meant: its identifier, and the arguments it is made with.

Plain data that travels in settings, checkpoints and to other processes. Nothing here makes an
environment or touches what an argument names.
"""

import json
from dataclasses import dataclass
from typing import Any

from td3core.errors import RequestError

RESERVED = ("id", "render_mode", "disable_env_checker")
"""Arguments of ``gymnasium.make`` that the studio itself decides on."""


@dataclass(frozen=True, slots=True)
class EnvChoice:
    """An environment to be made with :func:`td3core.envs.make.make_env`.

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
        """The arguments as Python values."""
        return parse_args(self.args)


def canonical_args(text: str) -> str:
    """Return the arguments in one spelling; empty if there are none.

    Raises:
        RequestError: the text is not a JSON object.
    """
    found = parse_args(text)
    return json.dumps(found, ensure_ascii=False) if found else ""


def parse_args(text: str) -> dict[str, Any]:
    """Read arguments from the text of a JSON object; empty text means none.

    Raises:
        RequestError: naming the text and what is wrong with it.
    """
    if not isinstance(text, str):
        raise _refused(text, "it is not text")
    if not text.strip():
        return {}
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        raise _refused(text, f"{problem.msg.lower()} at character {problem.pos + 1}") from None
    except RecursionError:
        raise _refused(text, "it is nested too deeply") from None
    except ValueError as problem:
        raise _refused(text, str(problem)) from None
    if not isinstance(found, dict):
        raise _refused(text, f"it is {_KINDS[type(found)]}")
    for name in RESERVED:
        if name in found:
            raise _refused(text, f"{name} is decided by the studio")
    return found


_KINDS: dict[type, str] = {
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _refused(text: object, reason: str) -> RequestError:
    shown = repr(text) if len(repr(text)) < 300 else f"{repr(text)[:300]}…"
    return RequestError(
        f"env_args cannot be {shown}: {reason}; it takes a JSON object such as"
        ' {"xml_file": "/path/to/ant.xml"}.'
    )
