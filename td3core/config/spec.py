"""What a setting knows of itself, and how its values are read and checked.

:mod:`td3core.config` declares the settings; this is the machinery they share.
"""

import math
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Literal

from td3core.errors import RequestError, brief

Scale = Literal["linear", "log", "complement"]
"""How a slider spreads its range; ``complement`` is logarithmic in 1 - value, for a discount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is known about one setting besides its name, type and default."""

    label: str
    help: str
    symbol: str = ""
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    shown: tuple[float, float] | None = None
    scale: Scale = "linear"
    choices: tuple[str, ...] = ()
    zero: str = ""
    """What 0 means, where it is not a quantity."""

    @property
    def slider_range(self) -> tuple[float, float]:
        """The part of the allowed range that a slider covers."""
        return self.shown or (self.low, self.high)

    @property
    def allowed(self) -> str:
        """The allowed values in words, for messages and tables."""
        if self.choices:
            return " or ".join(self.choices)
        if math.isinf(self.high):
            return "" if math.isinf(self.low) else f"at least {self.low:g}"
        return f"{self.low:g} to {self.high:g}"


def setting(default: Any = MISSING, **spec: Any) -> Any:
    """Declare one setting as a dataclass field; ``spec`` are the attributes of :class:`Spec`."""
    return field(default=default, metadata={"spec": Spec(**spec)})


def spec_of(item: Field[Any]) -> Spec:
    """Return what is known about a field declared with :func:`setting`."""
    found: Spec = item.metadata["spec"]
    return found


def check_fields(settings: Any) -> None:
    """Check every field of a dataclass of settings, in place.

    Harmless differences of type are mended (2 for 2.0, a list for a tuple).

    Raises:
        RequestError: naming field, value and what is allowed.
    """
    for item in fields(settings):
        value = _checked(item, getattr(settings, item.name))
        object.__setattr__(settings, item.name, value)


def parse_text(item: Field[Any], text: str) -> Any:
    """Turn text into a value of the field's type; its range is not checked.

    Raises:
        RequestError: the text is not a value of that type.
    """
    kind, text = item.type, text.strip()
    try:
        if kind is bool:
            return {"true": True, "on": True, "false": False, "off": False}[text.lower()]
        if kind is int:
            return _whole(text)
        if kind is float:
            return float(text)
        if kind == tuple[int, ...]:
            return tuple(int(part) for part in text.strip("[]()").split(",") if part.strip())
    except (ValueError, KeyError, OverflowError):
        raise _refusal(item, text) from None
    return text


def type_words_of(item: Field[Any]) -> str:
    """Say in words what a field takes, with its range."""
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    allowed = spec_of(item).allowed
    if item.type == tuple[int, ...]:
        return f"whole numbers separated by commas, each {allowed}"
    if spec_of(item).choices:
        return allowed
    text = words[item.type]  # type: ignore[index]
    return f"{text}, {allowed}" if allowed else text


def _whole(text: str) -> int:
    """Read a whole number; 1e6 and 1_000_000 count, 1.5 does not."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if number != int(number):
            raise ValueError(text) from None
        return int(number)


def _checked(item: Field[Any], value: Any) -> Any:
    wanted = item.type
    if wanted == tuple[int, ...]:
        if not isinstance(value, (tuple, list)) or len(value) > 16:
            raise _refusal(item, value)
        return tuple(_number(item, int, part) for part in value)
    if wanted is float or wanted is int:
        return _number(item, wanted, value)
    if not isinstance(value, wanted):  # type: ignore[arg-type]
        raise _refusal(item, value)
    if spec_of(item).choices and value not in spec_of(item).choices:
        raise _refusal(item, value)
    return value


def _number(item: Field[Any], wanted: Any, value: Any) -> float | int:
    # bool is an int to Python, but "tau = true" is a slip of the pen, not a number.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refusal(item, value)
    spec = spec_of(item)
    if not spec.low <= value <= spec.high or value != wanted(value):
        raise _refusal(item, value)
    number: float | int = wanted(value)
    return number


def _refusal(item: Field[Any], value: Any) -> RequestError:
    shown = brief(repr(value) if isinstance(value, str) else value)
    return RequestError(f"{item.name} cannot be {shown}; it takes {type_words_of(item)}.")
