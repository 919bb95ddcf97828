"""The cache of compiled code: made once, and trusted only if no one else can have made it."""

import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import platformdirs
import psutil
import pytest

from td3core.algorithm.fused import cache_file, kernel_cache, machine_code
from td3core.algorithm.fused import compile as compiling
from td3core.errors import StoppedError
from td3core.text import Text

_COPY = "import shutil, sys\nshutil.copyfile(sys.argv[1], sys.argv[2])\n"
GOOD = machine_code.to_bytes({})
"""Machine code of nothing."""


class Cache:
    """A cache of its own, with a compiler that takes no time."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self._made = folder / "made"
        cache_file.write(self._made, GOOD)
        self.said: list[str] = []
        self.compiled: list[str] = []
        """Where to, each time: "cache" or "private"."""
        self.threads: list[int] = []
        """And for how many."""
        self.script = _COPY
        monkeypatch.setattr(kernel_cache, "_command", self._command)

    @property
    def path(self) -> Path:
        """Where the update for all runs is."""
        return cache_file.path_of(f"{machine_code.key()}-2")

    def _command(self, path: Path, threads: int, *, in_cache: bool) -> list[str]:
        self.compiled.append("cache" if in_cache else "private")
        self.threads.append(threads)
        return [sys.executable, "-c", self.script, str(self._made), str(path)]

    def provide(self, stopped: Callable[[], bool] = lambda: False, threads: int = 2) -> None:
        """Load the update as a new process would."""
        self.monkeypatch.setattr(kernel_cache, "_loaded", SimpleNamespace(threads=0))
        self.provide_more(stopped, threads)

    def provide_more(self, stopped: Callable[[], bool] = lambda: False, threads: int = 2) -> None:
        """Load it in a process that may have loaded it before."""
        kernel_cache.provide(lambda text: self.said.append(str(text)), stopped, threads)

    def plant(self, mark: Path) -> Path:
        """Put a file there that is undamaged, and makes ``mark`` when it is loaded."""
        cache_file.make_folder()
        cache_file.write(self.path, pickle.dumps(Planted(str(mark))))
        return self.path


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (os.mkdir, (self.mark,))


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cache]:
    before = os.umask(0o077)
    home = tmp_path / "cache" / "td3-studio"
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_: home)
    # What is loaded would take the place of the compiled update in this process.
    monkeypatch.setattr(machine_code, "MODULES", ())
    yield Cache(tmp_path, monkeypatch)
    os.umask(before)


def test_the_update_is_compiled_once_and_found_from_then_on(cache: Cache) -> None:
    cache.provide()
    assert cache.compiled == ["cache"]
    assert ["happens once" in each for each in cache.said] == [True]
    cache.provide()
    assert len(cache.compiled) == len(cache.said) == 1


def test_runs_on_one_thread_wait_only_for_what_they_need(cache: Cache) -> None:
    cache.provide(threads=1)
    cache.provide(threads=1)
    assert cache.threads == [1]
    assert not cache.path.exists()
    cache.provide_more(threads=8)
    cache.provide(threads=3)
    assert cache.threads == [1, 2]


def test_what_all_runs_need_serves_those_on_one_thread(cache: Cache) -> None:
    cache.provide()
    cache.provide(threads=1)
    cache.provide_more(threads=2)
    assert cache.threads == [2]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_doctor_asks_for_what_the_next_run_needs(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(kernel_cache, "default_threads", lambda: threads)
    assert kernel_cache.examine()[0] is None
    cache.provide(threads=1)
    assert kernel_cache.examine()[0] is (True if threads == 1 else None)
    cache.provide()
    assert kernel_cache.examine()[0] is True


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: bytes(len(data)),
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data + b"\0",
    ],
    ids=["emptied", "halved", "zeroed", "last bit", "first bit", "longer"],
)
def test_a_damaged_file_is_said_and_compiled_again(
    cache: Cache, damage: Callable[[bytes], bytes]
) -> None:
    cache.provide()
    assert kernel_cache.examine() == (True, Text("ready"))
    cache.path.write_bytes(damage(cache.path.read_bytes()))
    ok, text = kernel_cache.examine()
    assert ok is False
    assert "is damaged" in str(text)
    cache.provide()
    assert cache.compiled == ["cache", "cache"]
    assert ["is damaged" in each for each in cache.said] == [False, True, False]
    assert cache_file.read(cache.path) == GOOD


def test_what_numba_cannot_load_is_compiled_again(cache: Cache) -> None:
    cache.provide()
    cache_file.write(cache.path, b"no pickle")
    cache.provide()
    assert cache.compiled == ["cache", "cache"]


def _open_to_all(path: Path) -> None:
    path.parent.chmod(0o777)


def _open_to_all_above(path: Path) -> None:
    path.parents[2].chmod(0o777)


def _writable(path: Path) -> None:
    path.chmod(0o666)


def _link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


@pytest.mark.skipif(os.name != "posix", reason="owners and permissions")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_open_to_all, "others may write"),
        (_open_to_all_above, "others may write"),
        (_writable, "others may write"),
        (_link, "is a link"),
    ],
)
def test_what_others_may_have_put_there_is_not_run(
    cache: Cache, tmp_path: Path, change: Callable[[Path], None], why: str
) -> None:
    mark = tmp_path / "it ran"
    change(cache.plant(mark))
    cache.provide()
    assert not mark.exists()
    assert cache.compiled == ["private"]
    assert [why in each for each in cache.said] == [True]


@pytest.mark.skipif(os.name != "posix", reason="owners and permissions")
@pytest.mark.parametrize(("members", "compiled"), [([], []), (["stranger"], ["private"])])
def test_a_group_of_the_user_alone_may_write(
    cache: Cache,
    tmp_path: Path,
    members: list[str],
    compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many systems give each user such a group, and let it write to whatever is made."""
    import grp
    import pwd

    user = SimpleNamespace(pw_name="user", pw_gid=tmp_path.stat().st_gid)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    group = SimpleNamespace(gr_name="user", gr_mem=members)
    monkeypatch.setattr(grp, "getgrgid", lambda _: group)
    cache.plant(tmp_path / "it ran").parent.chmod(0o775)
    cache.provide()
    assert cache.compiled == compiled


@pytest.mark.skipif(os.name != "posix", reason="owners and permissions")
def test_what_another_user_has_put_there_is_not_run(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "it ran"
    path = cache.plant(mark)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        monkeypatch.setattr(cache_file, "read", lambda _: GOOD)
    cache.provide()
    assert not mark.exists()
    assert cache.compiled == ["private"]
    assert ["belongs to another user" in each for each in cache.said] == [True]


def test_what_this_user_has_put_there_is_run(cache: Cache, tmp_path: Path) -> None:
    """Else the tests above could not fail."""
    mark = tmp_path / "it ran"
    cache.plant(mark)
    cache.provide()
    assert mark.exists()


def test_without_a_cache_folder_the_update_is_compiled_for_this_process(
    cache: Cache, tmp_path: Path
) -> None:
    (tmp_path / "cache").touch()
    cache.provide()
    assert cache.compiled == ["private"]
    assert ["is not used" in each for each in cache.said] == [True]


def test_a_full_disk_costs_time_and_no_run(cache: Cache) -> None:
    full = (
        "import sys\n"
        "if sys.argv[2].endswith('.code'):\n"
        "    print('full', file=sys.stderr)\n"
        f"    sys.exit({kernel_cache.CANNOT_KEEP})\n"
    )
    cache.script = full + _COPY
    cache.provide()
    assert cache.compiled == ["cache", "private"]
    assert "(full)" in cache.said[-1]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemError('no LLVM here')", "SystemError: no LLVM here"),
        ("import os\nos.kill(os.getpid(), 9)", "the compiler was killed by signal 9"),
    ],
)
def test_a_compiler_that_dies_is_named_in_one_sentence(
    cache: Cache, script: str, reason: str
) -> None:
    cache.script = script
    with pytest.raises(kernel_cache.KernelError, match=rf"computer: {reason}\.$"):
        cache.provide()


def test_a_stop_ends_the_wait_and_the_compiler(cache: Cache) -> None:
    # It compiles in processes of its own.
    cache.script = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    )
    this = psutil.Process()
    # Others of this process, such as the one that tracks shared memory.
    before, began = set(this.children(recursive=True)), time.monotonic()
    started: set[psutil.Process] = set()

    def both_run() -> bool:
        started.update(set(this.children(recursive=True)) - before)
        return len(started) == 2

    with pytest.raises(StoppedError):
        cache.provide(both_run)
    assert time.monotonic() - began < 2
    assert psutil.wait_procs(started, timeout=2)[1] == []


def test_two_processes_do_not_compile_at_once(cache: Cache) -> None:
    cache_file.make_folder()
    waiting = threading.Event()

    def say(message: Text) -> None:
        cache.said.append(str(message))
        waiting.set()

    other = cache_file.lock()
    other.acquire()
    thread = threading.Thread(target=kernel_cache.provide, args=(say,))
    cache.monkeypatch.setattr(kernel_cache, "_loaded", SimpleNamespace(threads=0))
    thread.start()
    assert waiting.wait(5)
    cache_file.write(cache.path, GOOD)
    other.release()
    thread.join(5)
    assert cache.compiled == []
    assert ["another process" in each for each in cache.said] == [True]


def test_where_another_compiler_dies_this_process_takes_over(cache: Cache) -> None:
    cache_file.make_folder()
    other = cache_file.lock()
    other.acquire()

    def give_up() -> bool:
        other.release()
        return False

    cache.provide(give_up)
    assert cache.compiled == ["cache"]
    assert len(cache.said) == 2


def test_a_stop_ends_the_wait_for_another_process(cache: Cache) -> None:
    cache_file.make_folder()
    with cache_file.lock(), pytest.raises(StoppedError):
        cache.provide(lambda: True)


def test_where_numba_is_switched_off_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_cache.works()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not kernel_cache.works()


# The process that compiles --------------------------------------------------------------------


@pytest.fixture
def compiler(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return a compiler of this process; each of its calls is counted in ``cache.compiled``."""

    def compile_update(_: int) -> bytes:
        cache.compiled.append("here")
        return GOOD

    monkeypatch.setattr(compiling, "compile_update", compile_update)
    monkeypatch.setattr(os, "nice", lambda _: 0, raising=False)
    monkeypatch.setattr(os, "umask", lambda _: 0)
    cache_file.make_folder()
    return lambda: compiling.main(["", str(cache.path), "2", "cache"])


def test_what_another_process_has_compiled_meanwhile_is_not_compiled_again(
    cache: Cache, compiler: Callable[[], int]
) -> None:
    assert compiler() == compiler() == 0
    assert cache.compiled == ["here"]
    cache.path.write_bytes(b"")
    assert compiler() == 0
    assert cache.compiled == ["here", "here"]


def test_a_cache_that_cannot_be_written_is_told_by_the_exit_code(
    compiler: Callable[[], int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_file, "write", full)
    assert compiler() == kernel_cache.CANNOT_KEEP
    assert capsys.readouterr().err == "No space left on device\n"


def test_the_files_used_last_remain(cache: Cache, compiler: Callable[[], int]) -> None:
    folder = cache.path.parent
    for age in range(12):
        other = folder / f"{age}.code"
        other.touch()
        os.utime(other, (1000 - age, 1000 - age))
    (folder / "earlier version").mkdir()
    os.utime(folder / "earlier version", (1, 1))
    assert compiler() == 0
    kept = {each.name for each in folder.iterdir()}
    assert kept == {"compiling", cache.path.name, *(f"{age}.code" for age in range(7))}


# The machine code -----------------------------------------------------------------------------

_STAND_IN = """
from numba import njit


@njit(nogil=True)
def _double(x):
    return x + x


@njit(nogil=True)
def four_times(x):
    return _double(_double(x))
"""


def test_machine_code_goes_from_one_process_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "td3_stand_in.py").write_text(_STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(machine_code, "MODULES", ("td3_stand_in",))
    compiled = machine_code.collect()
    assert sys.modules["td3_stand_in"].four_times(2.0) == 8.0
    # What only other compiled functions call is part of them.
    assert list(compiled) == ["td3_stand_in.four_times"]
    # As another process would see the module.
    monkeypatch.delitem(sys.modules, "td3_stand_in")
    machine_code.install(machine_code.to_bytes(compiled))
    function = sys.modules["td3_stand_in"].four_times
    assert function(2.0) == 8.0
    assert sum(function.stats.cache_hits.values()) == 1
    assert not function.stats.cache_misses
    assert function(2) == 8
    monkeypatch.delitem(sys.modules, "td3_stand_in")


def test_the_cache_of_other_sources_or_settings_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import config

    key, text_of = machine_code.key(), machine_code.text_of
    assert machine_code.key() == key
    changed = [
        (machine_code, "text_of", lambda name: text_of(name) + b"#" * name.endswith(".parallel")),
        (machine_code, "text_of", lambda name: text_of(name) + b"#" * name.endswith(".update")),
        (machine_code, "version", lambda name: "0" if name == "scipy" else "1"),
        (config, "OPT", 1),
        (config, "CPU_NAME", "generic"),
    ]
    keys = {key}
    for owner, name, value in changed:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            keys.add(machine_code.key())
    assert len(keys) == len(changed) + 1


def test_every_function_that_is_compiled_in_is_part_of_the_key() -> None:
    modules = {each.py_func.__module__ for each in machine_code.functions().values()}
    assert {*machine_code.MODULES} <= modules <= machine_code.sources().keys()


@pytest.mark.release
def test_a_reinstallation_elsewhere_finds_what_was_compiled(root: Path, tmp_path: Path) -> None:
    """Nothing depends on the path of the sources or on their times."""
    said = []
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / "cache").mkdir(mode=0o700)
    for name in ("first", "second"):
        shutil.copytree(root / "td3core", tmp_path / name / "td3core")
        for path in (tmp_path / name).rglob("*.py"):
            os.utime(path, (len(said), len(said)))
        command = [sys.executable, "-m", "td3core.algorithm.fused.compile"]
        done = subprocess.run(
            command, cwd=tmp_path / name, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.count("\n"))
    assert said == [1, 0]
