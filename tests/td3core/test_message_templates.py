"""Messages are made of a template and values, never of text that is already formatted."""

import ast
import string
from pathlib import Path

import pytest

ROOMS = (
    "cli",
    "config",
    "envs",
    "evaluation",
    "exporters",
    "importers",
    "inference",
    "system",
    "errors.py",
    "randomness.py",
)
TEMPLATE_AT = {
    "Text": 0,
    "MessageError": 0,
    "RequestError": 0,
    "RunError": 0,
    "ProbeError": 0,
    "UnexpectedError": 0,
    "passed": 1,
    "warning": 1,
    "error": 1,
}
"""Position of the template among the arguments of what makes messages."""


def fields_of(template: str) -> set[str]:
    return {name.partition(".")[0] for _, name, _, _ in string.Formatter().parse(template) if name}


def fault(call: ast.Call) -> str:
    """Return what is wrong with a call that makes a message; empty if nothing is."""
    assert isinstance(call.func, ast.Name)
    position = TEMPLATE_AT[call.func.id]
    if len(call.args) != position + 1:
        return "positional values"
    template, given = call.args[position], {item.arg for item in call.keywords}
    if isinstance(template, ast.Name | ast.Attribute):
        return ""
    if not isinstance(template, ast.Constant):
        return "formatted template"
    if given and None not in given and fields_of(template.value) != given:
        return "fields and values differ"
    return ""


def faults(source: str) -> list[tuple[int, str]]:
    """Return line and fault of every call in a module that makes a message wrongly."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    found = (
        (call.lineno, fault(call))
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in TEMPLATE_AT
    )
    return [each for each in found if each[1]]


@pytest.mark.parametrize("room", ROOMS)
def test_every_message_of_a_room_has_a_template(room: str, root: Path) -> None:
    path = root / "td3core" / room
    paths = [path] if path.is_file() else sorted(path.rglob("*.py"))
    assert paths
    found = {str(each.relative_to(root)): faults(each.read_text("utf-8")) for each in paths}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("RequestError(f'{name} is odd.')", "formatted template"),
        ("RunError('{} is odd.'.format(name))", "formatted template"),
        ("Text('%s is odd.' % name)", "formatted template"),
        ("raise RequestError(name + ' is odd.') from None", "formatted template"),
        ("RequestError(str(problem))", "formatted template"),
        ("warning('shape', f'{name} is odd.')", "formatted template"),
        ("RequestError('{name} is odd.', nome=name)", "fields and values differ"),
        ("RequestError('{name} is odd.', name)", "positional values"),
        ("RequestError('{name} is odd.', name=name)", ""),
        ("RequestError('{size:,} is {{odd}}.', size=3)", ""),
        ("RequestError(problem.message)", ""),
        ("RequestError(template, **values)", ""),
        ("ValueError(f'{name} is odd.')", ""),
    ],
)
def test_a_message_without_a_proper_template_is_found(source: str, expected: str) -> None:
    assert [what for _, what in faults(source)] == ([expected] if expected else [])
