"""Reads YAML as plain data: tags are ignored, so they construct nothing."""

from typing import Any

import yaml

from td3core.importers.damage import UnexpectedError

MOST_BYTES = 64 * 1024
_MOST_NODES, _MOST_DEPTH = 20_000, 20
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False}


def read_yaml(data: bytes) -> Any:
    """Return the contents of a document: mappings, lists, numbers and text.

    A pair list, the form in which ``yaml.dump`` writes an ``OrderedDict``, becomes a mapping.

    Raises:
        UnexpectedError: it is not YAML, is too long or is nested too deeply.
    """
    if len(data) > MOST_BYTES:
        raise UnexpectedError("there are {n} bytes", n=len(data))
    try:
        # Nodes only: constructing is what runs code.
        node = yaml.compose(data.decode(), Loader=yaml.SafeLoader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        raise UnexpectedError("line {line} is no YAML", line=line) from problem
    return _Reader().plain(node)


class _Reader:
    def __init__(self) -> None:
        self._count = 0

    def plain(self, node: yaml.Node | None, depth: int = 0) -> Any:
        self._count += 1
        # An alias counts each time it is used.
        if self._count > _MOST_NODES or depth > _MOST_DEPTH:
            raise UnexpectedError("there are too many values")
        if isinstance(node, yaml.MappingNode):
            pairs = (
                (self.plain(key, depth + 1), self.plain(value, depth + 1))
                for key, value in node.value
            )
            return {str(key): value for key, value in pairs}
        if isinstance(node, yaml.SequenceNode):
            values = [self.plain(each, depth + 1) for each in node.value]
            return _ordered(values) if node.tag.endswith("collections.OrderedDict") else values
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        return None


def _ordered(values: list[Any]) -> Any:
    pairs = values[0] if values else []
    if len(values) > 1 or not isinstance(pairs, list):
        raise UnexpectedError("a mapping is written in an unknown way")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise UnexpectedError("a mapping is written in an unknown way")
    return {str(key): value for key, value in pairs}


def _scalar(node: yaml.ScalarNode) -> Any:
    text = node.value
    if node.style is not None:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
