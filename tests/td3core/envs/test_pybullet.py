"""PyBullet, which comes with an extra: registered when asked for, and quiet."""

import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import av
import numpy as np
import pytest

from td3core.cli.doctor import examine
from td3core.envs import catalogue
from td3core.envs.catalogue import KNOWN, find_known
from td3core.envs.make import make_env
from td3core.errors import RequestError
from tests.td3core.cli.test_commands import small

WALKER = "Walker2DBulletEnv-v0"


def walker_installed() -> bool:
    known = find_known(WALKER)
    return known is not None and known.installed


needs_pybullet = pytest.mark.skipif(
    not walker_installed(), reason="PyBullet is not installed: pip install 'td3-studio[pybullet]'"
)


@pytest.fixture
def without_pybullet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look like a machine that has none."""
    monkeypatch.setattr(catalogue, "is_importable", lambda module: "pybullet" not in module)
    for name in ("pybullet", "pybullet_envs_gymnasium"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "pybullet_envs_gymnasium")
    monkeypatch.setattr(sys, "meta_path", [_Without(), *sys.meta_path])


class _Without:
    """Finds no PyBullet anywhere."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.startswith("pybullet"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_without_the_extra_its_name_is_said(without_pybullet: None) -> None:
    with pytest.raises(RequestError) as caught:
        make_env(WALKER)
    assert str(caught.value) == (
        f"{WALKER} needs a package that is not installed: pip install 'pybullet_envs_gymnasium'."
    )


def test_without_the_extra_the_doctor_says_how_to_get_it(
    without_pybullet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The doctor's own look at the graphics needs none of the environments.
    monkeypatch.setattr(
        "td3core.cli.doctor.subprocess.run", lambda command, **_: CompletedProcess(command, 0)
    )
    found = next(f for f in examine() if f is not None and f.what == "PyBullet")
    assert found.value == "not installed (optional); pip install 'pybullet_envs_gymnasium'"
    assert found.ok is None


def test_a_slip_of_the_pen_leads_to_the_walker_even_before_it_is_registered() -> None:
    with pytest.raises(RequestError, match=WALKER):
        make_env("Walker2DBulletEnv-v1")


def test_nothing_of_pybullet_is_imported_until_it_is_asked_for(root: Path) -> None:
    code = (
        "import sys; from td3core.envs.make import make_env; make_env('Pendulum-v1').close();"
        " sys.exit('pybullet_envs_gymnasium' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@needs_pybullet
@pytest.mark.parametrize("env_id", [known.env_id for known in KNOWN if known.group == "PyBullet"])
def test_every_listed_environment_can_be_made_and_stepped(env_id: str) -> None:
    env = make_env(env_id)
    before, _ = env.reset(seed=0)
    after, reward, *_ = env.step(env.action_space.sample())
    env.close()
    assert np.isfinite([*before, *after, reward]).all()
    assert (after != before).any()


COMMANDS = """
import sys
from pathlib import Path
from td3core.cli import app

walker, runs, film, *options = sys.argv[1:]

def command(*words):
    assert app.main([*words, "--json"]) == 0, words

command("train", walker, "--steps", "120", "--runs-dir", runs, *options)
(run,) = map(str, Path(runs).iterdir())
command("eval", run, "--episodes", "2")
command("check", walker)
command("replay", run, "--video", film)
"""


@pytest.mark.release
@needs_pybullet
def test_a_walker_is_trained_measured_and_filmed_without_a_word_too_many(
    root: Path, tmp_path: Path
) -> None:
    video = tmp_path / "film.mp4"
    options = [
        str(tmp_path / "runs"),
        str(video),
        *small(eval_interval=60, background_evaluation="on"),
    ]
    # A process of its own: what C code prints goes past Python's streams.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COMMANDS, WALKER, *options],
        cwd=root,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    for noise in ("argv", "build time", "Warning"):
        assert noise not in done.stderr
    _, measured, checked, filmed = map(json.loads, done.stdout.splitlines())
    assert measured["returns"]
    assert checked["errors"] == 0
    with av.open(str(video)) as film:
        assert sum(1 for _ in film.decode(video=0)) == filmed["frames"]
