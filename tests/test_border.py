"""What may know what: the core no window, the window no torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FORBIDDEN = {
    "td3core": {"PySide6", "pyqtgraph", "qtawesome", "studio"},
    "studio": {"torch"},
}


def test_the_import_contracts_of_the_project_are_kept(root: Path) -> None:
    code = "import sys, importlinter.cli as cli; sys.exit(cli.lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def imported(path: Path) -> set[str]:
    """Return the top-level packages that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", FORBIDDEN)
def test_no_file_of_a_package_imports_across_the_border(root: Path, package: str) -> None:
    paths = sorted((root / package).rglob("*.py"))
    assert len(paths) > 5
    crossing = {str(path): imported(path) & FORBIDDEN[package] for path in paths}
    assert {path: names for path, names in crossing.items() if names} == {}


@pytest.mark.parametrize("module", ["studio.app", "studio.window.main_window", "studio.__main__"])
def test_importing_the_window_loads_no_torch(root: Path, module: str) -> None:
    code = f"import sys, {module}; print('torch' in sys.modules, 'td3core.config' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.split()[:1] == ["False"], done.stderr


def test_importing_the_core_loads_no_window(root: Path) -> None:
    code = (
        "import sys, td3core.training.launch, td3core.cli.app, td3core.cli.doctor;"
        "print(sorted({name.split('.')[0] for name in sys.modules}"
        " & {'PySide6', 'pyqtgraph', 'studio', 'qtawesome'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
