"""A third party's run: its files name a module, which leaves a mark if it is imported."""

import sys
from pathlib import Path

import pytest

from td3core.envs import make, trust, trust_store
from td3core.system import allowed_code

_HANGS_S = 40
"""For ever, as far as a test is concerned; one that fails ends after it."""
_TEXT = """
import os

def mark():
    with open(os.environ["STRANGERS_MARKS"], "a") as file:
        file.write(f"{os.getpid()} {__name__}\\n")

mark()
"""
"""The same wherever it lies: a run knows its code again."""
ENVIRONMENT = """
import importlib

import gymnasium as gym
import numpy as np


class Slide(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}
    action_space = gym.spaces.Box(-1, 1, (1,))
    observation_space = gym.spaces.Box(-1, 1, (2,))

    def __init__(self, render_mode=None, helper=""):
        self.render_mode = render_mode
        if helper:
            importlib.import_module(helper.partition(":")[0])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 2).astype("f"), {}

    def step(self, action):
        self.steps += 1
        obs = self.np_random.uniform(-1, 1, 2).astype("f")
        return obs, -abs(float(action[0])), False, self.steps >= 20, {}

    def render(self):
        return np.full((32, 32, 3), self.steps % 256, np.uint8)


gym.register("StrangerSlide-v0", Slide)
"""
_DEAF = """

def hang():
    import collections, hashlib, itertools, time
    open({marks!r} + ".hangs", "w").close()
    if {how!r} == "in C code":
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 2**31 - 1)
    if {how!r} == "in C code that keeps the interpreter":
        collections.deque(itertools.repeat(0), maxlen=0)
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            if {how!r} == "and replaces the interrupt by an error":
                raise OSError("not a picture") from None


calls, found = 0, Slide.{place}

def count():
    global calls
    calls += 1
    if not {everywhere}:
        return calls
    with open({marks!r} + ".calls", "ab") as file:
        file.write(b".")
        return file.tell()

def deaf(*args, **kwargs):
    if count() > {after}:
        hang()
    return found(*args, **kwargs)

Slide.{place} = deaf
gym.register("Deaf-v0", Slide)
"""


class Stranger:
    """Code in folders of one's own, its marks, and a file of what the user has allowed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.folder, self.marks = folder / "theirs", folder / "marks"
        self.folder.mkdir()
        self.trusted = folder / "trusted.json"
        monkeypatch.setenv("TD3_STUDIO_TRUST", str(self.trusted))
        monkeypatch.setenv("STRANGERS_MARKS", str(self.marks))
        monkeypatch.syspath_prepend(str(self.folder))
        # Name of the environment in its runs.
        monkeypatch.setattr(trust, "noted_folders", {})

    def write(self, name: str, folder: Path | None = None) -> Path:
        """Write a module ``a.b`` with its packages; each of them leaves a mark."""
        at, parts = folder or self.folder, name.split(".")
        at.mkdir(parents=True, exist_ok=True)
        for part in parts[:-1]:
            at /= part
            at.mkdir(exist_ok=True)
            (at / "__init__.py").write_text(_TEXT)
        path = at / f"{parts[-1]}.py"
        path.write_text(_TEXT + ENVIRONMENT)
        return path

    def write_deaf(
        self,
        name: str,
        place: str,
        after: int = 0,
        how: str = "in Python",
        *,
        everywhere: bool = False,
    ) -> None:
        """Write a module whose environment hangs in the method ``place``, deaf to Ctrl-C.

        The first ``after`` calls return: in each process, or of all processes ``everywhere``.
        """
        path, marks = self.write(name), str(self.marks)
        deaf = _DEAF.format(place=place, after=after, how=how, marks=marks, everywhere=everywhere)
        path.write_text(path.read_text() + deaf)
        self._monkeypatch.setattr(make, "usable_environments", set())

    @property
    def hangs(self) -> bool:
        """Whether a deaf environment has reached the point where it hangs."""
        return Path(f"{self.marks}.hangs").exists()

    def hang(self, name: str) -> None:
        """Let the environment of a module, and of no process so far, take long to be made."""
        path = self.folder / f"{name}.py"
        line = "self.render_mode = render_mode"
        slow = f'__import__("time").sleep({_HANGS_S}); {line}'
        path.write_text(path.read_text().replace(line, slow))
        self.leave(name)
        self._monkeypatch.setattr(make, "usable_environments", set())

    @property
    def imported(self) -> set[str]:
        """The modules that were imported, in whatever process."""
        return {line.split()[1] for line in self._lines()}

    @property
    def processes(self) -> set[int]:
        """The processes that imported any."""
        return {int(line.split()[0]) for line in self._lines()}

    def leave(self, *names: str) -> None:
        """Make this process forget what it imported; the marks go, and every consent."""
        for name in [*sys.modules]:
            if name.split(".")[0] in names:
                del sys.modules[name]
        allowed_code.replace(())
        for path in (self.marks, self.trusted):
            if path.is_file():
                path.unlink()

    def allow(self, name: str) -> None:
        """Let the user have allowed a module."""
        from td3core.envs.trust import locate

        found = locate(name)
        assert found is not None
        trust_store.remember(found)

    def _lines(self) -> list[str]:
        return self.marks.read_text().splitlines() if self.marks.exists() else []
