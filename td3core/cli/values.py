"""Values that commands take as text."""

from typing import Any

from td3core.config import parse_value
from td3core.errors import RequestError


def assignments(texts: list[str]) -> dict[str, Any]:
    """Read the ``FIELD=VALUE`` of every ``--set``.

    Raises:
        RequestError: a field is unknown or has a place of its own, or a value is not of its type.
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise RequestError(f"--set takes FIELD=VALUE, not {text!r}.")
        if name.strip() in ("env", "preset"):
            raise RequestError(f"--set cannot change {name.strip()}; it has a place of its own.")
        values[name.strip()] = parse_value(name.strip(), value)
    return values
