"""The metadata of a setting, and how its values are parsed and checked.

``run_config.py`` and ``tunables.py`` declare the settings with it.
"""

import math
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import Any, Literal

from td3core.errors import RequestError, brief
from td3core.text import NO_TEXT, SettingName, Text

Scale = Literal["linear", "log", "complement"]
"""How a slider spreads its range; ``complement`` is logarithmic in 1 - value, for a discount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The metadata of one setting, besides its name, type and default."""

    label: Text
    help: Text
    symbol: str = ""
    unit: Text = NO_TEXT
    low: float = -math.inf
    high: float = math.inf
    shown: tuple[float, float] | None = None
    scale: Scale = "linear"
    choices: tuple[str, ...] = ()
    longest: int = 500
    """Most characters of a text: a window takes seconds to lay out a line of very many."""
    zero: Text = NO_TEXT
    """Meaning of 0, if it is a special value."""
    lowest: Text = NO_TEXT
    """Meaning of the lowest allowed value, if it is a special value."""

    @property
    def sign(self) -> Text | str:
        """The symbol; the label if that has several parts: ``α Q 0.001`` would be ambiguous."""
        return self.label if not self.symbol or " " in self.symbol else self.symbol

    @property
    def slider_range(self) -> tuple[float, float]:
        """The part of the allowed range that a slider covers."""
        return self.shown or (self.low, self.high)

    def word(self, value: object) -> Text:
        """Return the word for a number that is a special value, such as off; else empty."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            if value == 0 and self.zero:
                return self.zero
            if value <= self.low:
                return self.lowest
        return NO_TEXT

    def is_lowest(self, text: str) -> bool:
        """Return whether a text is the word for the lowest value, translated or in English."""
        words = (self.lowest.english.casefold(), str(self.lowest).casefold())
        return bool(self.lowest) and text.strip().casefold() in words

    @property
    def allowed(self) -> str:
        """The allowed range or choices as text, for tables; empty if there is no limit."""
        if self.choices:
            return " or ".join(self.choices)
        if math.isinf(self.high):
            return ""
        return f"{self.lowest or _bound(self.low)} to {_bound(self.high)}"


def setting(default: Any = MISSING, **spec: Any) -> Any:
    """Declare one setting as a dataclass field; ``spec`` are the attributes of :class:`Spec`."""
    return field(default=default, metadata={"spec": Spec(**spec)})


def spec_of(item: Field[Any]) -> Spec:
    """Return the metadata of a field declared with :func:`setting`."""
    found: Spec = item.metadata["spec"]
    return found


def option_field(option: str, kind: type, **spec: Any) -> Field[Any]:
    """Return a field for an option that is no setting, so that its values are checked alike."""
    item: Field[Any] = setting(label=NO_TEXT, help=NO_TEXT, **spec)
    item.name, item.type = option, kind
    return item


def setting_fields(settings: Any) -> tuple[Field[Any], ...]:
    """Return the fields of a settings dataclass, or of its class, that are settings."""
    return _setting_fields(settings if isinstance(settings, type) else type(settings))


@cache
def _setting_fields(kind: type) -> tuple[Field[Any], ...]:
    return tuple(item for item in fields(kind) if "spec" in item.metadata)


def check_fields(settings: Any) -> None:
    """Check every field of a settings dataclass, in place.

    Harmless differences of type are converted (2.0 to 2, a list to a tuple).

    Raises:
        RequestError: a value is not allowed; the message says what is.
    """
    for item in setting_fields(settings):
        value = checked(item, getattr(settings, item.name))
        object.__setattr__(settings, item.name, value)


def parse_text(item: Field[Any], text: str) -> Any:
    """Convert text to a value of the field's type, without checking its range.

    Raises:
        RequestError: the text is not a value of that type.
    """
    kind, text = item.type, text.strip()
    known = spec_of(item)
    if known.is_lowest(text):
        return known.low
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


def type_words_of(item: Field[Any]) -> Text:
    """Describe the values that a field takes: their type and range."""
    known = spec_of(item)
    if known.choices:
        return _one_of(known.choices)
    if item.type is bool:
        return Text("true or false")
    if item.type is str:
        return Text("text of at most {n:,} characters", n=known.longest)
    high = _bound(known.high)
    if known.lowest:
        return Text("{lowest} or a number up to {high}", lowest=known.lowest, high=high)
    limits = {"low": _bound(known.low), "high": high}
    if item.type is int and math.isinf(known.high):
        return Text("a whole number of at least {low}", low=limits["low"])
    if item.type is int:
        return Text("a whole number from {low} to {high}", **limits)
    if item.type is float:
        return Text("a number from {low} to {high}", **limits)
    # Without thousands separators: a comma stands between two numbers.
    plain = {"low": known.low, "high": known.high}
    return Text("whole numbers separated by commas, each from {low:g} to {high:g}", **plain)


def _bound(bound: float) -> str:
    """Return the end of a range, exactly if it is whole: 2,147,483,647, 0.001."""
    return f"{bound:,.0f}" if float(bound).is_integer() else f"{bound:g}"


def _one_of(choices: tuple[str, ...]) -> Text:
    if len(choices) == 2:
        return Text("{first} or {second}", first=choices[0], second=choices[1])
    return Text("one of {choices}", choices=", ".join(choices))


def _whole(text: str) -> int:
    """Parse a whole number: 1e6 and 1_000_000 are accepted, 1.5 is not."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if number != int(number):
            raise ValueError(text) from None
        return int(number)


def checked(item: Field[Any], value: Any) -> Any:
    """Return a value of a field, converted to the field's type where that is harmless.

    Raises:
        RequestError: it is not allowed; the message says what is.
    """
    wanted = item.type
    if wanted == tuple[int, ...]:
        if not isinstance(value, (tuple, list)) or len(value) > 16:
            raise _refusal(item, value)
        return tuple(_number(item, int, part) for part in value)
    if wanted is float or wanted is int:
        return _number(item, wanted, value)
    if not isinstance(value, wanted):  # type: ignore[arg-type]
        raise _refusal(item, value)
    spec = spec_of(item)
    if spec.choices and value not in spec.choices:
        raise _refusal(item, value)
    if wanted is str and len(value) > spec.longest:
        raise _refusal(item, value)
    return value


def checked_number(item: Field[Any], value: Any) -> float | int:
    """Return a value of a numeric setting, converted to the setting's type.

    Raises:
        RequestError: it is not a number, or out of range.
    """
    return _number(item, item.type, value)


def _number(item: Field[Any], wanted: Any, value: Any) -> float | int:
    spec = spec_of(item)
    if isinstance(value, str) and spec.is_lowest(value):
        value = spec.low
    # In Python bool is a subclass of int, but "tau = true" is a mistake.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refusal(item, value)
    if not spec.low <= value <= spec.high or value != wanted(value):
        raise _refusal(item, value)
    number: float | int = wanted(value)
    return number


def _refusal(item: Field[Any], value: Any) -> RequestError:
    return RequestError(
        "{name} cannot be {value}; it must be {allowed}.",
        name=SettingName(item.name),
        # Short, so that there is room for what is allowed where the sentence itself is cut.
        value=brief(repr(value) if isinstance(value, str) else value, 80),
        allowed=type_words_of(item),
    )
