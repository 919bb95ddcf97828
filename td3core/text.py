"""User-visible texts: a template and its values, translated only when shown.

Every such text is marked in the source, so that ``pybabel extract`` finds it, and is passed as data
through errors, events and signals::

    Text("{name} cannot be {value:g}.", name="tau", value=7)
    Text.counted("{n} run", "{n} runs", n=len(runs))
    button.setText(tr("Train"))

Only a widget, a terminal or a log calls ``str``, and no code depends on the wording.
"""

import contextlib
import gettext
import math
import numbers
import os
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from importlib.resources import files
from pathlib import PurePath
from string import Formatter
from typing import Any, Self, TypeAlias

DOMAIN = "td3_studio"
ENGLISH = "en"
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")

TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Bidirectional control characters: in untrusted text they can disguise the content."""

_SPEC = re.compile(r"[<>^+ ]?,?\d{0,2},?(\.\d{1,2})?[a-z%]?")
"""Format specifications allowed in the studio's templates."""

_translations = gettext.NullTranslations()


class SettingName(str):
    """The key of a setting as a value of a text.

    A terminal shows the key, which ``--set`` takes; the window shows the label
    (:meth:`Text.with_settings`).
    """

    __slots__ = ()


Value: TypeAlias = "Text | str | int | float | PurePath | tuple[float, ...] | None"
"""Types of a template's values: those that can be sent to another process unchanged."""


class Text:
    """A text that keeps its template and values, so that it can be translated when shown.

    A value may itself be a text. Numbers stay numbers; the template formats them. Without values
    the template is taken literally, braces included.

    Attributes:
        template: The English text with a replacement field for each value; the catalogue's key.
        plural: The template for any count but one, or None; the count is the value ``n``.
        values: The values of the replacement fields.
    """

    __slots__ = ("plural", "template", "values")
    template: str
    plural: str | None
    values: dict[str, Any]

    def __init__(self, template: str, /, **values: "Value") -> None:
        """Keep ``template`` and ``values``; nothing is formatted yet."""
        self.template, self.plural, self.values = template, None, values

    @classmethod
    def counted(cls, singular: str, plural: str, /, *, n: int, **values: "Value") -> Self:
        """Return a text whose wording depends on the count ``n``."""
        text = cls(singular, n=n, **values)
        text.plural = plural
        return text

    @classmethod
    def joined(cls, texts: "Iterable[Text]", separator: str = " ") -> "Text":
        """Return whole sentences in sequence, or the parts of a list."""
        values = {f"t{place}": text for place, text in enumerate(texts)}
        return cls(separator.join(f"{{{name}}}" for name in values), **values)

    def __str__(self) -> str:
        """Render in the current language; in English if the catalogue's template fails."""
        translated = self._translated()
        if not self.values:
            return translated
        try:
            return translated.format(**self.values)
        except (LookupError, ValueError, TypeError, AttributeError):
            return self._template().format(**self.values)

    @property
    def english(self) -> str:
        """Rendered in English, for scripts and files."""
        if not self.values:
            return self.template
        plain = {k: v.english if isinstance(v, Text) else v for k, v in self.values.items()}
        return self._template().format(**plain)

    @property
    def setting(self) -> SettingName | None:
        """The first setting in the template; None if it has none. Nested texts are ignored."""
        for _, field, _, _ in Formatter().parse(self.template) if self.values else ():
            found = self.values.get(field or "")
            if isinstance(found, SettingName):
                return found
        return None

    def with_settings(self, called: Callable[[SettingName], object]) -> "Text":
        """Return the text with the names of settings replaced, also in nested texts."""
        text = copy(self)
        text.values = {name: _called(value, called) for name, value in self.values.items()}
        return text

    def __format__(self, spec: str) -> str:
        """Render as part of another text."""
        return format(str(self), spec)

    def __repr__(self) -> str:
        """Return an expression that recreates the text."""
        values = "".join(f", {name}={value!r}" for name, value in self.values.items())
        plural = "" if self.plural is None else f", {self.plural!r}"
        return f"{type(self).__name__}({self.template!r}{plural}{values})"

    def __eq__(self, other: object) -> bool:
        """Compare templates and values, never renderings."""
        if not isinstance(other, Text):
            return NotImplemented
        mine = (self.template, self.plural, self.values)
        return mine == (other.template, other.plural, other.values)

    def __hash__(self) -> int:
        """Consistent with equality; values need not be hashable."""
        return hash((self.template, self.plural))

    def __bool__(self) -> bool:
        """Return whether the text is not empty."""
        return bool(self.template)

    def _template(self) -> str:
        if self.plural is None or self.values.get("n") == 1:
            return self.template
        return self.plural

    def _translated(self) -> str:
        if not self.template:  # the empty key holds a catalogue's header
            return ""
        if self.plural is None:
            return _translations.gettext(self.template)
        return _translations.ngettext(self.template, self.plural, self.values["n"])


NO_TEXT = Text("")
"""The empty text."""


def plain(text: Text, plain_of: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Return a text as JSON values; ``plain_of`` converts the values of its fields.

    By default, values that are neither texts nor numbers become strings.
    """
    of = plain_of or _plain_value
    values = {name: of(value) for name, value in text.values.items()}
    found: dict[str, Any] = {"template": text.template, "values": values}
    settings = [name for name, value in text.values.items() if isinstance(value, SettingName)]
    if settings:
        # Under a separate key: earlier versions expect strings as values.
        found["settings"] = settings
    return found if text.plural is None else found | {"plural": text.plural}


def plain_float(number: float) -> float | dict[str, str]:
    """Return a number as a value of strict JSON, which lacks NaN and infinities."""
    return number if math.isfinite(number) else {"number": repr(number)}


def _with_setting_names(values: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return values read from a file, with those it marks as setting names converted."""
    names = kept.get("settings")
    known = names if isinstance(names, list | tuple) else ()
    return {
        name: SettingName(value) if name in known and isinstance(value, str) else value
        for name, value in values.items()
    }


def from_plain(found: Any, value_of: Callable[[Any], Any] | None = None) -> Text:
    """Return the text that :func:`plain` wrote, or a plain string of an earlier version.

    ``value_of`` reverses the ``plain_of`` of its fields' values.

    Earlier versions wrote NaN and infinities as strings; these remain strings.

    Raises:
        ValueError: the value is neither, or its values do not fit its template.
    """
    match found:
        case str():
            return Text(found)
        case {"template": str(template), "values": dict(values)}:
            of = value_of or _value_of
            known = {str(name): of(value) for name, value in values.items()}
            text = Text(template, **_with_setting_names(known, found))
            text.plural = found["plural"] if isinstance(found.get("plural"), str) else None
        case _:
            raise ValueError("no text")
    if text.values:
        for each in filter(None, (text.template, text.plural)):
            _require_fitting(each, text.values)
    return text


def _require_fitting(template: str, values: dict[str, Any]) -> None:
    """Reject a template from a file with unknown fields or excessive formats, e.g. a huge width."""
    try:
        for _, field, spec, _ in Formatter().parse(template):
            if field is not None and (field not in values or not _SPEC.fullmatch(spec or "")):
                raise ValueError(f"a text with the field {field}")
        template.format(**values)
    except (LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise ValueError("a text whose values do not fit") from problem


def _called(value: Any, called: Callable[[SettingName], object]) -> Any:
    if isinstance(value, Text):
        return value.with_settings(called)
    return called(value) if isinstance(value, SettingName) else value


def _plain_value(value: Any) -> Any:
    if isinstance(value, Text):
        return plain(value)
    if value is None or isinstance(value, bool):
        return value
    # NumPy's integer and floating types are registered with these base classes.
    if isinstance(value, numbers.Integral):
        return int(value)
    return plain_float(float(value)) if isinstance(value, numbers.Real) else str(value)


def _value_of(value: Any) -> Any:
    match value:
        case {"number": str(number)}:
            return float(number)
        case dict():
            return from_plain(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError("unsupported value in a text")


def one_line(text: str) -> str:
    """Return text of someone else, such as a name, with its line breaks replaced by spaces."""
    return " ".join(text.split())


def tr(template: str, /, **values: Any) -> str:
    """Render a text for immediate display, such as a widget's caption."""
    return str(Text(template, **values))


def marked(template: str, /) -> str:
    """Return a template, marked for the catalogue; :func:`translated` renders it later."""
    return template


def translated(text: str) -> str:
    """Render a :func:`marked` text without values."""
    return str(Text(text))


def install(translations: gettext.NullTranslations) -> None:
    """Render texts with ``translations`` from now on."""
    global _translations
    _translations = translations


def choose_language() -> str:
    """Render in the first preferred language that has a catalogue; return its name.

    The environment lists the preferred languages, as for every program that uses gettext. Without a
    readable catalogue, texts stay English.
    """
    folder = str(files("resources") / "translations")
    for wanted in next(filter(None, map(os.environ.get, _VARIABLES)), "").split(":"):
        if wanted.partition("_")[0].partition(".")[0] in (ENGLISH, "C", "POSIX"):
            break
        found = gettext.find(DOMAIN, folder, [wanted])
        with contextlib.suppress(OSError, ValueError, struct.error):
            if found is not None:
                with open(found, "rb") as file:  # noqa: PTH123
                    install(gettext.GNUTranslations(file))
                return found.replace(os.sep, "/").split("/")[-3]
    return ENGLISH
