"""Messages in a run's JSON files: an English sentence, and next to it a text.

The sentence is for scripts and earlier versions; the text (template and values) is for display in
another language.
"""

from collections.abc import Mapping
from typing import Any

from td3core import text
from td3core.errors import quoted
from td3core.text import NO_TEXT, Text


def as_keys(message: Text) -> dict[str, Any]:
    """Return the two entries of a message."""
    return {"message": message.english, "text": text.plain(message)}


def from_keys(found: Mapping[str, Any], most: int) -> Text:
    """Return the message of an untrusted object; earlier versions wrote one sentence.

    A sentence is cut to ``most`` characters.
    """
    sentence = characters(found.get("message", ""), most)
    alone = quoted(sentence) if sentence else NO_TEXT
    try:
        told = text.from_plain(found["text"])
    except (KeyError, ValueError):
        return alone
    # If the two do not match, the sentence is used.
    return told if told.english == sentence else alone


def shortened(message: Text, most: int) -> Text:
    """Return a message cut to ``most`` characters, unchanged if it is shorter."""
    sentence = message.english
    return message if len(sentence) <= most else quoted(sentence[:most])


def characters(value: Any, most: int) -> str:
    """Return at most this many characters of text, safe for any terminal or file."""
    # JSON may hold lone surrogates.
    return str(value)[:most].encode(errors="replace").decode()
