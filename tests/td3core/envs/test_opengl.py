"""MuJoCo's OpenGL backend is probed and chosen before MuJoCo is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from td3core.envs.graphics.opengl import OFF, VARIABLE, Backend, OpenGL, ProbeResult, probe

EGL, OSMESA, WINDOW = Backend.EGL, Backend.OSMESA, Backend.WINDOW
WORKS, MISSING, FAILS = ProbeResult.WORKS, ProbeResult.MISSING, ProbeResult.FAILS
INSTALL = "MuJoCo finds no OpenGL; on Debian and Ubuntu, install {} or {}"


def chosen(
    given: str, found: dict[Backend, ProbeResult], system: str = "linux"
) -> tuple[str | None, str | None, list[Backend]]:
    """Return the environment variable, the problem, and what was tried for the former."""
    variables, tried = {VARIABLE: given} if given else {}, []

    def scripted(backend: Backend) -> ProbeResult:
        tried.append(backend)
        return found.get(backend, MISSING)

    made = OpenGL(variables, scripted, system)
    made.prepare()
    before = list(tried)
    problem = made.problem()
    return variables.get(VARIABLE), problem and str(problem), before


def test_the_first_kind_that_really_works_is_chosen_and_no_more_are_tried() -> None:
    assert chosen("", {EGL: WORKS, OSMESA: WORKS}) == ("egl", None, [EGL])
    assert chosen("", {EGL: FAILS, OSMESA: WORKS}) == ("osmesa", None, [EGL, OSMESA])
    assert chosen("", {WINDOW: WORKS}) == ("glfw", None, [EGL, OSMESA, WINDOW])
    # Elsewhere MuJoCo has one kind, which it knows best.
    assert chosen("", {EGL: WORKS}, system="darwin") == (None, None, [])


def test_what_the_user_sets_wins_over_what_would_work() -> None:
    assert chosen("osmesa", {EGL: WORKS, OSMESA: WORKS})[:2] == ("osmesa", None)
    # It may work for MuJoCo though not for the trial.
    assert chosen("egl", {EGL: FAILS, OSMESA: WORKS})[:2] == ("egl", None)
    assert chosen("glx", {EGL: WORKS})[:2] == ("glx", None)
    assert chosen("disabled", {EGL: WORKS}) == (
        OFF,
        "MUJOCO_GL is disabled",
        [],
    )


def test_where_nothing_can_draw_the_missing_package_is_named() -> None:
    nothing = chosen("", {})
    assert nothing[:2] == (OFF, INSTALL.format("libegl1", "libosmesa6"))
    without_driver = chosen("", {EGL: FAILS})
    assert without_driver[1] == INSTALL.format("libgl1-mesa-dri", "libosmesa6")
    assert chosen("osmesa", {EGL: WORKS})[:2] == (
        OFF,
        "OSMesa is missing; on Debian and Ubuntu, install libosmesa6",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a choice")
def test_a_library_that_is_not_there_is_found_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("td3core.envs.graphics.opengl.sys.executable", "/bin/false")
    assert probe.__wrapped__(EGL) is FAILS
    monkeypatch.undo()
    assert all(isinstance(probe(backend), ProbeResult) for backend in Backend)


SPY = """
import os
raise RuntimeError("it saw " + str(os.environ.get("MUJOCO_GL")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a choice")
@pytest.mark.parametrize("given", ["osmesa", ""])
def test_the_choice_is_made_before_mujoco_is_imported(
    tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mujoco.py").write_text(SPY)
    draw = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from td3core.envs.graphics import opengl\n"
        "opengl.opengl = None\n"
        "from td3core.envs import rendering\n"
        "works = lambda backend: opengl.ProbeResult.WORKS if backend == 'osmesa' else 'missing'\n"
        "made = opengl.OpenGL(opengl.os.environ, works, 'linux')\n"
        "rendering.opengl = lambda: made\n"
        "from td3core.envs.make import make_env\n"
        "make_env('HalfCheetah-v5', render=True)\n"
    )
    monkeypatch.delenv(VARIABLE, raising=False)
    if given:
        monkeypatch.setenv(VARIABLE, given)
    done = subprocess.run(
        [sys.executable, "-c", draw, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "HalfCheetah-v5 cannot be made: it saw osmesa." in done.stderr
