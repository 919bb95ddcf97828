"""How messages stand in a run's JSON files: as an English sentence, and as a text beside it.

The sentence is for scripts and earlier versions; the text, template and values, for whoever reads
it in another language.
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
    """Return the message of an object that may be anyone's; one sentence of earlier versions.

    Of a sentence at most ``most`` characters count.
    """
    sentence = characters(found.get("message", ""), most)
    alone = quoted(sentence) if sentence else NO_TEXT
    try:
        told = text.from_plain(found["text"])
    except (KeyError, ValueError):
        return alone
    # Where both were not written together, the sentence counts.
    return told if told.english == sentence else alone


def shortened(message: Text, most: int) -> Text:
    """Return a message of at most ``most`` characters, as it is if it is no longer."""
    sentence = message.english
    return message if len(sentence) <= most else quoted(sentence[:most])


def characters(value: Any, most: int) -> str:
    """Return at most so many characters of text that any terminal or file takes."""
    # JSON may hold halves of characters.
    return str(value)[:most].encode(errors="replace").decode()
