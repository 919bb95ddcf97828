"""TOML files that come with the program: reading them, and extracting their texts for Babel."""

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
"""Keys of user-visible texts in rules, lessons and presets."""
LIST_KEYS = (*KEYS, "name")
"""The same in lists of tables, such as the arms of a lesson."""

T = TypeVar("T")


def read_bundled(kind: str, parse: Callable[[str, str], T]) -> list[T]:
    """Return the results of ``parse`` for name and text of each file in a folder of resources."""
    folder = files("resources") / kind
    paths = (path for path in folder.iterdir() if path.name.endswith(".toml"))
    return [parse(path.name.removesuffix(".toml"), path.read_text("utf-8")) for path in paths]


def known_keys(text: str, keys: Collection[str]) -> dict[str, Any]:
    """Return the contents of TOML text.

    Raises:
        RequestError: it is not TOML.
        UnknownKeyError: a key is not known.
    """
    found = parse_toml(text)
    for key in sorted(found.keys() - keys):
        raise UnknownKeyError(key)
    return found


class UnknownKeyError(Exception):
    """A key that the file format does not define."""


def texts_of(found: Mapping[str, Any], keys: Collection[str]) -> dict[str, Text]:
    """Return a file's user-visible texts, ready for translation.

    Raises:
        KeyError: a text is missing.
    """
    templates = {key: str(found[key]).strip() for key in keys}
    return {key: Text(template) for key, template in templates.items()}


@contextlib.contextmanager
def reading(refusal: Callable[[Text], RequestError]) -> Iterator[None]:
    """Turn errors about invalid contents of a file into a ``refusal`` with the reason."""
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
    """Yield line, function, text and comments of each text, as required by ``pybabel extract``.

    ``pyproject.toml`` names this function.
    """
    del keywords, comment_tags, options
    content = file.read().decode()
    found = tomllib.loads(content)
    after = 0
    for table, keys in _tables(found):
        last = after
        for key in keys:
            if isinstance(text := table.get(key), str) and text.strip():
                place = re.compile(rf"^{key}\s*=", re.MULTILINE).search(content, last)
                start = place.start() if place else last
                yield content[:start].count("\n") + 1, "", text.strip(), []
                after = max(after, start + 1)


def _tables(found: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Collection[str]]]:
    """Yield the tables of a file, in its order, with the keys of their texts."""
    # Tables come after the top-level keys.
    yield found, KEYS
    for each in found.values():
        if isinstance(each, dict):
            yield each, KEYS
        elif isinstance(each, list):
            yield from ((part, LIST_KEYS) for part in each if isinstance(part, dict))
