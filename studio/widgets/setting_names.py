"""Refusals of settings in the words of the window: its labels in place of the command's keys."""

import re

from td3core.config import RunConfig, Tunables, label_of, specs
from td3core.text import Text

_KEYS = tuple(name for kind in (RunConfig, Tunables) for name, _ in specs(kind))
_LONG = re.compile(r"\b(?:" + "|".join(name for name in _KEYS if "_" in name) + r")\b")
"""Keys that are no words of the language."""
_FIRST = re.compile(r"(?:" + "|".join(_KEYS) + r")(?= )")


def in_labels(message: Text | str) -> str:
    """Return a message with the labels of settings: ``Warm-up cannot be −1; ...``."""
    text = str(message)
    first = _FIRST.match(text)
    if first is not None:
        text = label_of(first[0]) + text[first.end() :]
    return _LONG.sub(lambda key: label_of(key[0]), text)
