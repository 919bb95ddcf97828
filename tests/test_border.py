"""The allowed imports: rooms only those below, the core no window, the window no torch."""

import ast
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGES = ("td3core", "studio")
PLANTED = {
    "The rooms of td3core: imports run downwards only": (
        "td3core/buffer/replay_buffer.py",
        "from td3core.training import trainer",
    ),
    "The rooms of studio: imports run downwards only": (
        "studio/session/model.py",
        "from studio.window import main_window",
    ),
    "The core knows no window": ("td3core/system/files.py", "import PySide6.QtCore"),
    "Only the algorithm and its training load torch": (
        "td3core/inference/policy.py",
        "def late() -> None:\n    import torch",
    ),
    "The window knows no torch, and only its worker reaches the training": (
        "studio/launch/launcher.py",
        "from td3core.training import launch",
    ),
    "The window imports its number formats from one module": (
        "studio/live/live_panel.py",
        "from td3core.config import value_text",
    ),
    "The renderer's process knows neither Qt nor torch": (
        "studio/replay/renderer/episode.py",
        "from PySide6.QtCore import QObject",
    ),
}
"""For each contract of pyproject.toml a file, and what must not be imported there."""


def check_contracts(folder: Path) -> subprocess.CompletedProcess[str]:
    """Let import-linter look at the packages in a folder."""
    code = "import sys, importlinter.cli as cli; sys.exit(cli.lint_imports(no_cache=True))"
    command = [sys.executable, "-c", code]
    # The folder itself is searched first, so that it is these packages that are looked at.
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


# That they are kept is checked by lint-imports itself, in .ci/run.
@pytest.mark.slow
def test_an_import_against_any_contract_is_found(root: Path, tmp_path: Path) -> None:
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / package, tmp_path / package, ignore=ignored)
    shutil.copy(root / "pyproject.toml", tmp_path)
    for file, planted in PLANTED.values():
        with (tmp_path / file).open("a") as module:
            module.write(f"\n{planted}\n")
    done = check_contracts(tmp_path)
    assert done.returncode == 1
    # All at once; each has to be found by its own contract, which names no other file.
    said = _by_contract(done.stdout)
    assert said.keys() == PLANTED.keys()
    assert f"0 kept, {len(PLANTED)} broken" in done.stdout
    for contract, (file, _) in PLANTED.items():
        assert f"{contract} BROKEN" in done.stdout
        assert file.removesuffix(".py").replace("/", ".") in said[contract], contract


def _by_contract(report: str) -> dict[str, str]:
    """Return the output on each broken contract, below its underlined name."""
    parts = re.split(r"^(.+)\n-+\n", report.partition("Broken contracts")[2], flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: found[name] for name in PLANTED if name in found}


class Names(NamedTuple):
    """Facts about a module for these tests."""

    imported: frozenset[str]
    """The modules that it imports, anywhere in it."""
    private: frozenset[str]
    """The private names that it defines: of functions, classes, attributes, values."""
    classes: frozenset[str]
    """The public classes that it defines."""


@cache
def names_of(path: Path) -> Names:
    """Look through a module, once for all tests: that takes seconds for all of them."""
    imported, defined, classes = set[str](), set[str](), set[str]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.module and not node.level:
                imported.add(node.module)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.add(node.name)
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(getattr(node, "attr", getattr(node, "id", "")))
    private = frozenset(filter(is_private, defined))
    return Names(frozenset(imported), private, frozenset(classes))


def test_the_window_starts_without_torch_optuna_the_manual_or_the_sources_of_its_modules(
    root: Path, tmp_path: Path
) -> None:
    # PySide's import hook reads by way of linecache, which keeps all of it.
    code = (
        "import json, linecache, sys; from PySide6.QtWidgets import QApplication;"
        "QApplication.exec = lambda *_: QApplication.closeAllWindows() or 0;"
        "from studio.__main__ import main; status = main(['--runs-dir', sys.argv[1]]);"
        "print(json.dumps([status, len(linecache.cache), list(sys.modules)]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    status, read, loaded = json.loads(done.stdout)
    assert status == 0
    assert {"studio.app", "studio.window.main_window", "td3core.config"} <= set(loaded)
    assert {"torch", "optuna", "sqlalchemy", "ray", "scipy", "numba"}.isdisjoint(loaded)
    assert [name for name in loaded if ".help_" in name] == []
    assert read < 50, "source files were read"


def test_the_commands_are_there_without_numpy_or_torch(root: Path) -> None:
    """Otherwise even --help would wait for them."""
    code = "import sys, td3core.cli.app; print(sorted({'numpy', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
def test_importing_the_core_loads_neither_the_window_nor_optuna(root: Path) -> None:
    code = (
        "import sys, td3core.training.launch, td3core.cli.app, td3core.cli.doctor;"
        "print(sorted({name.split('.')[0] for name in sys.modules}"
        " & {'PySide6', 'pyqtgraph', 'studio', 'qtawesome', 'optuna', 'sqlalchemy', 'ray'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


# What tests may touch ----------------------------------------------------------------------------

PATCHES = ("setattr", "delattr", "getattr", "hasattr", "patch", "object")


NAMED_TUPLE = {"_replace", "_asdict", "_fields"}
"""Public, though they begin with an underscore."""


def is_private(name: str) -> bool:
    private = name.startswith("_") and not name.startswith("__") and name != "_"
    return private and name not in NAMED_TUPLE


def touched(source: str) -> dict[str, int]:
    """Return the private names of other objects than ``self`` that a test uses, with a line each.

    As an attribute, in an import, or in words that patching and looking up take.
    """
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            names = [] if own else [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Call) and _called(node) in PATCHES:
            words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            names = [part for word in words if isinstance(word, str) for part in word.split(".")]
        found |= {name: node.lineno for name in names if is_private(name)}
    return found


def _called(node: ast.Call) -> str:
    """Return the last name of what is called; empty where it has none."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def modules(root: Path) -> dict[str, Path]:
    """Return every module of the two packages by its path in the project."""
    found = (path for package in PACKAGES for path in (root / package).rglob("*.py"))
    return {str(path.relative_to(root)): path for path in found}


def room_of(test: Path, root: Path) -> str:
    """Return the folder or module that a test file is for; of other tests a name of none."""
    package, *inner = test.relative_to(root / "tests").with_suffix("").parts
    if len(inner) > 1:
        return f"{package}/{inner[0]}/"
    return f"{package}/{inner[0].removeprefix('test_')}.py" if inner else "nowhere"


@pytest.mark.slow
def test_a_test_touches_nothing_private_of_another_room(root: Path) -> None:
    defined = {name: names_of(path).private for name, path in modules(root).items()}
    crossing, looked_at = [], 0
    for test in sorted((root / "tests").rglob("*.py")):
        # Benchmarks take the time of parts that have no name for others.
        if test.parent.name == "benchmarks":
            continue
        room = room_of(test, root)
        names = touched(test.read_text("utf-8"))
        looked_at += len(names)
        for name, line in names.items():
            homes = [module for module, private in defined.items() if name in private]
            # What is defined nowhere here belongs to another library, or to the test itself.
            if homes and not any(home.startswith(room) for home in homes):
                crossing.append(f"{test.relative_to(root)}:{line}: {name} of {', '.join(homes)}")
    assert looked_at > 10
    assert crossing == []


@pytest.mark.parametrize(
    "source",
    [
        "window.live._rows",
        "from td3core.training.launch import _prepare",
        "monkeypatch.setattr('td3core.training.launch._prepare', None)",
        "monkeypatch.setattr(launch, '_prepare', None)",
        "getattr(window, '_rows')",
    ],
)
def test_every_way_to_touch_something_private_is_seen(source: str) -> None:
    assert set(touched(source)) & {"_rows", "_prepare"}
    assert not touched("self._rows; cls._rows; window.rows; __all__; '_rows'")


def test_the_face_of_every_room_is_one_docstring(root: Path) -> None:
    # These two hand on light names; what they hand on loads neither torch nor Gymnasium.
    handing_on = {f"td3core/{room}/__init__.py" for room in ("config", "checkpoint")}
    faces = {name: each for name, each in modules(root).items() if name.endswith("/__init__.py")}
    assert len(faces) > 10
    for name in faces.keys() - handing_on:
        tree = ast.parse(faces[name].read_text("utf-8"))
        assert ast.get_docstring(tree), name
        others = [node for node in tree.body[1:] if not isinstance(node, ast.Assign)]
        assert others == [], name


@pytest.mark.slow
def test_no_two_classes_have_one_name_where_rooms_import_each_other(root: Path) -> None:
    homes: dict[str, list[str]] = {}
    arrows: dict[str, set[str]] = {}
    for path, file in modules(root).items():
        room, names = _room(path.removesuffix(".py").replace("/", ".")), names_of(file)
        arrows.setdefault(room, set()).update(map(_room, names.imported))
        for name in names.classes:
            homes.setdefault(name, []).append(room)
    assert len(homes) > 300
    twice = {
        (name, one, other)
        for name, rooms in homes.items()
        for one, other in permutations(rooms, 2)
        if one == other or other in arrows[one]
    }
    assert twice == set()


def _room(module: str) -> str:
    """Return the folder right below a package, such as ``td3core.runs``, that a module is in."""
    return ".".join(module.split(".")[:2])


def test_the_face_of_every_room_names_modules_that_are_there(root: Path) -> None:
    faces = [path for name, path in modules(root).items() if name.endswith("/__init__.py")]
    named = [
        (face, name)
        for face in faces
        for name in re.findall(r"``([\w/.]+\.py)``", face.read_text("utf-8"))
    ]
    assert len(named) > 20
    assert [(str(face), name) for face, name in named if not (face.parent / name).exists()] == []


@pytest.mark.slow
def test_no_files_of_the_window_import_each_other_in_a_circle(root: Path) -> None:
    # What is imported for its type alone counts, too: it knows the other file all the same.
    files = {_module_of(path, root): path for path in (root / "studio").rglob("*.py")}
    arrows = {name: names_of(path).imported & set(files) for name, path in files.items()}
    while free := {name for name, needed in arrows.items() if not needed & set(arrows)}:
        arrows = {name: needed for name, needed in arrows.items() if name not in free}
    # What is left is in a circle, or stands above one.
    assert sorted(arrows) == []


def _module_of(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts)
