"""Modules, functions and rooms stay small enough to be read in one sitting."""

import ast
from collections import Counter
from pathlib import Path

PACKAGES = ("td3core", "studio")
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_MODULES = 14
"""In one folder, with its ``__init__.py``."""
FACES = {"td3core/config", "td3core/checkpoint"}
"""Rooms whose ``__init__.py`` may re-export names from within."""


def modules(root: Path) -> dict[str, Path]:
    """Return every module of the two packages by its path in the project."""
    found = (path for package in PACKAGES for path in (root / package).rglob("*.py"))
    return {path.relative_to(root).as_posix(): path for path in found}


def functions(path: Path) -> dict[str, int]:
    """Return the functions of a module with the number of their lines."""
    return {
        f"{node.name} (line {node.lineno})": (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_no_module_is_too_long(root: Path) -> None:
    lines = {
        name: len(path.read_text("utf-8").splitlines()) for name, path in modules(root).items()
    }
    assert len(lines) > 100
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_function_is_too_long(root: Path) -> None:
    found = {
        f"{module}: {function}": lines
        for module, path in modules(root).items()
        for function, lines in functions(path).items()
    }
    assert len(found) > 500
    assert {name: n for name, n in found.items() if n > MOST_LINES_OF_A_FUNCTION} == {}


def test_no_room_has_too_many_modules(root: Path) -> None:
    rooms = Counter(str(Path(name).parent) for name in modules(root))
    assert len(rooms) > 10
    assert {room: count for room, count in rooms.items() if count > MOST_MODULES} == {}


def test_the_init_of_a_room_is_one_docstring(root: Path) -> None:
    faces = {n: path for n, path in modules(root).items() if n.endswith("/__init__.py")}
    rooms = {name: path for name, path in faces.items() if name.count("/") > 1}
    assert len(rooms) > 10
    for name, path in rooms.items():
        head, *rest = ast.parse(path.read_text("utf-8")).body
        assert isinstance(head, ast.Expr), name
        assert isinstance(head.value, ast.Constant), name
        assert isinstance(head.value.value, str), name
        assert not rest or str(Path(name).parent) in FACES, f"{name} holds more than a docstring"
