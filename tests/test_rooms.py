"""The face of a room is its docstring."""

import ast
from pathlib import Path

PACKAGES = ("td3core", "studio")
FACES = {"td3core/config", "td3core/checkpoint"}
"""Rooms whose ``__init__.py`` may re-export names from within."""


def modules(root: Path) -> dict[str, Path]:
    """Return every module of the two packages by its path in the project."""
    found = (path for package in PACKAGES for path in (root / package).rglob("*.py"))
    return {path.relative_to(root).as_posix(): path for path in found}


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
