"""Parses the values of ``--set``."""

from typing import Any

from td3core.config import parse_value
from td3core.errors import RequestError


def assignments(texts: list[str]) -> dict[str, Any]:
    """Parse the ``FIELD=VALUE`` of every ``--set``.

    Raises:
        RequestError: a field is unknown or cannot be set this way, or a value has the wrong type.
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise RequestError("--set takes FIELD=VALUE, not {text}.", text=repr(text))
        if name.strip() == "env":
            raise RequestError("--set cannot change env; name the environment after the command.")
        if name.strip() == "preset":
            raise RequestError("--set cannot change preset; use --preset.")
        values[name.strip()] = parse_value(name.strip(), value)
    return values
