"""TOML files that come with the program: how they are read, and what Babel finds in them."""

import contextlib
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.resources import files
from typing import Any, BinaryIO, TypeVar

from td3core.errors import RequestError
from td3core.system.regular_files import parse_toml
from td3core.text import Text

KEYS = ("title", "question", "text", "look", "seen", "reason", "advice", "about")
"""What a person reads of rules, lessons and presets."""

T = TypeVar("T")


def read_bundled(kind: str, parse: Callable[[str, str], T]) -> list[T]:
    """Return what ``parse`` makes of the name and text of each file of a folder of resources."""
    folder = files("resources") / kind
    paths = (path for path in folder.iterdir() if path.name.endswith(".toml"))
    return [parse(path.name.removesuffix(".toml"), path.read_text("utf-8")) for path in paths]


def known_keys(text: str, keys: Collection[str]) -> dict[str, Any]:
    """Return what TOML text holds.

    Raises:
        RequestError: it is not TOML.
        UnknownKeyError: a key is none of these.
    """
    found = parse_toml(text)
    for key in sorted(found.keys() - keys):
        raise UnknownKeyError(key)
    return found


class UnknownKeyError(Exception):
    """A key that means nothing."""


def texts_of(found: Mapping[str, Any], keys: Collection[str]) -> dict[str, Text]:
    """Return what a file says to people, ready to be translated.

    Raises:
        KeyError: one is missing.
    """
    templates = {key: str(found[key]).strip() for key in keys}
    return {key: Text(template) for key, template in templates.items()}


@contextlib.contextmanager
def reading(refusal: Callable[[Text], RequestError]) -> Iterator[None]:
    """Turn what damage in a file raises into the ``refusal`` that a reason makes."""
    try:
        yield
    except RequestError:
        raise
    except UnknownKeyError as problem:
        raise refusal(Text("{key} is unknown", key=problem.args[0])) from problem
    except KeyError as problem:
        raise refusal(Text("{key} is missing", key=problem.args[0])) from problem
    except (TypeError, ValueError, RecursionError) as problem:
        raise refusal(Text("{reason}", reason=str(problem))) from problem


def extract(
    file: BinaryIO, keywords: object, comment_tags: object, options: object
) -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield line, function, text and comments of each text, as ``pybabel extract`` asks for them.

    ``pyproject.toml`` names this function.
    """
    del keywords, comment_tags, options
    content = file.read().decode()
    found = tomllib.loads(content)
    after = 0
    # Tables come after the keys of the file itself.
    for table in (found, *(each for each in found.values() if isinstance(each, dict))):
        last = after
        for key in KEYS:
            if isinstance(text := table.get(key), str) and text.strip():
                place = re.compile(rf"^{key}\s*=", re.MULTILINE).search(content, last)
                start = place.start() if place else last
                yield content[:start].count("\n") + 1, "", text.strip(), []
                after = max(after, start + 1)
