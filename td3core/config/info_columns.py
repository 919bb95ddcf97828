"""Parses the setting ``info_columns``: names of the numbers in ``info`` that a run records."""

from td3core.errors import RequestError, brief
from td3core.text import SettingName, Text

PREFIX = "info."
"""Prefix of the names in the columns of ``episodes.csv`` and in messages."""
MOST = 20
_LONGEST = 64


def columns_of(names: str) -> tuple[str, ...]:
    """Return the columns named by the setting, such as ``info.x_velocity``."""
    return tuple(PREFIX + name for name in parse_names(names))


def canonical_names(text: str) -> str:
    """Return names in canonical form: each once, separated by a comma and a space.

    Raises:
        RequestError: as :func:`parse_names`.
    """
    return ", ".join(parse_names(text))


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a text, each once; empty text means none.

    Raises:
        RequestError: there are too many, or one cannot be the name of a column.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if len(names) > MOST:
        raise _refusal(text, Text("at most {most} are recorded", most=MOST))
    for name in names:
        # Names become part of a table header, which does not support quoting.
        if '"' in name or not name.isprintable():
            raise _refusal(text, Text("{name} cannot name a column", name=brief(repr(name))))
        if len(name) > _LONGEST:
            raise _refusal(
                text,
                Text("{name} has more than {most} characters", name=brief(name), most=_LONGEST),
            )
    return names


def _refusal(text: str, reason: Text) -> RequestError:
    return RequestError(
        "{key} cannot be {value}: {reason}.",
        key=SettingName("info_columns"),
        value=brief(repr(text), 300),
        reason=reason,
    )
