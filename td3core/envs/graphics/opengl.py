"""Chooses MuJoCo's OpenGL backend, before MuJoCo is imported and loads it."""

import os
import subprocess
import sys
from collections.abc import Callable, MutableMapping
from enum import StrEnum
from functools import cache
from pathlib import Path

from td3core.envs.graphics import probe as script
from td3core.text import Text

VARIABLE = "MUJOCO_GL"
"""The environment variable that MuJoCo reads. The user's value is kept."""
OFF = "disabled"
"""Its value if nothing works: MuJoCo then loads no OpenGL, and its physics still run."""
_PROBE_S = 20.0


class Backend(StrEnum):
    """An OpenGL backend, by its value of the environment variable."""

    EGL = "egl"
    OSMESA = "osmesa"
    WINDOW = "glfw"

    @property
    def full_name(self) -> str:
        """Name shown to the user."""
        names = {"egl": "EGL", "osmesa": "OSMesa", "glfw": "OpenGL for the window system"}
        return names[self.value]


class ProbeResult(StrEnum):
    """Result of probing an OpenGL backend."""

    WORKS = "works"
    MISSING = "its library is missing"
    FAILS = "it cannot create a context"


Probe = Callable[[Backend], ProbeResult]


class OpenGL:
    """Chooses MuJoCo's OpenGL backend for this process."""

    def __init__(self, variables: MutableMapping[str, str], probe: Probe, system: str) -> None:
        """Read the user's choice from ``variables``.

        Args:
            variables: The environment variables.
            probe: Tries a backend.
            system: The operating system, as ``sys.platform``; there is a choice only on Linux.
        """
        self._variables, self._probe, self._system = variables, probe, system
        self._wanted = variables.get(VARIABLE, "").strip().lower()

    def prepare(self) -> None:
        """Write the choice into the environment variables."""
        if self._system == "linux":
            chosen = self.chosen()
            self._variables[VARIABLE] = OFF if chosen is None else chosen

    def chosen(self) -> str | None:
        """Return the user's choice, else the first backend that works; None if nothing can draw."""
        if self._wanted:
            missing = self._named is not None and self._probe(self._named) is ProbeResult.MISSING
            return None if missing or self._wanted == OFF else self._wanted
        works = (each for each in Backend if self._probe(each) is ProbeResult.WORKS)
        return next(works, None)

    def problem(self) -> Text | None:
        """Return the reason why MuJoCo cannot draw, and what to install; None if it can."""
        if self._system != "linux" or self.chosen() is not None:
            return None
        if self._named is not None:
            return Text(
                "{name} is missing; on Debian and Ubuntu, install {package}",
                name=self._named.full_name,
                package=_package(self._named, ProbeResult.MISSING),
            )
        if self._wanted:
            return Text("{name} is {value}", name=VARIABLE, value=OFF)
        return Text(
            "MuJoCo finds no OpenGL; on Debian and Ubuntu, install {first} or {second}",
            first=_package(Backend.EGL, self._probe(Backend.EGL)),
            second=_package(Backend.OSMESA, self._probe(Backend.OSMESA)),
        )

    @property
    def _named(self) -> Backend | None:
        return Backend(self._wanted) if self._wanted in list(Backend) else None


def _package(backend: Backend, found: ProbeResult) -> str:
    """Return the missing Debian package; Ubuntu's has the same name."""
    if backend is Backend.OSMESA:
        return "libosmesa6"
    if backend is Backend.WINDOW:
        return "libgl1"
    return "libegl1" if found is ProbeResult.MISSING else "libgl1-mesa-dri"


@cache
def probe(backend: Backend) -> ProbeResult:
    """Try a backend in a process of its own."""
    # Isolated, and without installed packages: it needs none, and starts faster.
    command = [sys.executable, "-I", "-S", str(Path(script.__file__)), backend.value]
    try:
        status = subprocess.run(  # noqa: S603
            command, capture_output=True, timeout=_PROBE_S, check=False
        ).returncode
    except (OSError, subprocess.TimeoutExpired):
        return ProbeResult.FAILS
    if status == script.MISSING:
        return ProbeResult.MISSING
    return ProbeResult.FAILS if status else ProbeResult.WORKS


@cache
def opengl() -> OpenGL:
    """Return the choice of this process; the first call takes the environment variables."""
    return OpenGL(os.environ, probe, sys.platform)
