"""A folder whose files must not be imported: each leaves a mark if it is."""

from pathlib import Path

NAMES = (
    *("numpy", "torch", "json", "pathlib", "typer", "rich", "gymnasium", "multiprocessing"),
    *("pickle", "struct", "tempfile", "random", "signal", "runpy", "td3core", "studio"),
    *("resources", "safetensors", "filelock", "platformdirs", "logging", "sitecustomize"),
    # Not installed anywhere, but asked for by libraries that can do without.
    *("ipywidgets", "mujoco_py", "cupy", "brax"),
)
_MARK = "from os import open as o, close as c\nc(o({!r} + __name__.split('.')[0], 65))\n"


class HostileFolder:
    """Lies in wait with modules of well-known names."""

    def __init__(self, folder: Path) -> None:
        self.path, self._marks = folder / "hostile", folder / "marks"
        self.path.mkdir()
        self._marks.mkdir()
        text = _MARK.format(f"{self._marks}/")
        for number, name in enumerate(NAMES):
            if number % 2:
                (self.path / name).mkdir()
                (self.path / name / "__init__.py").write_text(text)
            else:
                (self.path / f"{name}.py").write_text(text)

    @property
    def imported(self) -> list[str]:
        """Names of the modules that were imported."""
        return sorted(path.name for path in self._marks.iterdir())
