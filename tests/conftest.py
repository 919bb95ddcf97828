"""Setup of every test: no screen, a runs folder of its own, nothing left running."""

import compileall
import contextlib
import gc
import gettext
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Several hundred processes of the suite read these modules. If the environment forbids keeping
# bytecode, each would compile them again; only modules written by tests are not kept.
_KEEPS_NOTHING = sys.dont_write_bytecode
sys.dont_write_bytecode = False

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["SDL_VIDEODRIVER"] = "dummy"
# Some math libraries set LANG, and then Qt warns in whichever test opens the first window.
os.environ.setdefault("LC_ALL", "C.UTF-8")
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
# The suite writes 30,000 small files; on a disk with a journal that takes half a minute.
_MEMORY = Path("/dev/shm")
if sys.platform == "linux" and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
# Every process of the suite has folders of its own, and none of them is the user's.
_OWN = tempfile.TemporaryDirectory(prefix="td3-studio-tests-")
os.environ["TD3_STUDIO_RUNS"] = _OWN.name
os.environ["TD3_STUDIO_TRUST"] = _OWN.name + "/trusted.json"
os.environ["TD3_STUDIO_PRESETS"] = _OWN.name + "/presets"
os.environ["XDG_CONFIG_HOME"] = _OWN.name + "/config"
os.environ["XDG_DATA_HOME"] = _OWN.name + "/data"
# stable-baselines3 makes a folder for a log each time that it learns, though it writes none.
os.environ["SB3_LOGDIR"] = _OWN.name + "/stable-baselines3"

from td3core.system import numerics  # noqa: E402

# As the program does itself, before NumPy is loaded.
numerics.pin()

from studio.source_reading import stop_source_reading  # noqa: E402
from td3core.system import allowed_code  # noqa: E402
from td3core.system.capacity import usable_cores  # noqa: E402
from td3core.system.openmp import shorten_waits  # noqa: E402

# As the program does itself; more processes than cores would wait for each other for seconds.
shorten_waits()
stop_source_reading()

import psutil  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from td3core import text  # noqa: E402
from tests.support.quick_children import quick_children  # noqa: E402
from tests.support.rewritten import rewrite_all  # noqa: E402
from tests.support.scripted import Script, register_fixed, registered  # noqa: E402
from tests.support.stretched import Stretched  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
GRACE_S = 2.0
MOST_PROCESSES = 8
"""Most processes: each takes up to a gigabyte."""
QUICK = "not slow and not release"
"""The expression of marks that pyproject.toml asks for."""

# The same examples every time. .ci/release draws more of them, `explore` other ones each time.
_SHARED = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
_REPEATABLE = _SHARED | {"derandomize": True, "database": None}
settings.register_profile("quick", max_examples=25, **_REPEATABLE)
settings.register_profile("thorough", max_examples=300, **_REPEATABLE)
settings.register_profile("explore", max_examples=1000, **_SHARED)
settings.load_profile("quick")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Spread the suite over the cores; a file or two are over before other processes are up."""
    if all(named.split("::")[0].endswith(".py") for named in config.args):
        return 0
    # One more than cores: a third of the time of a test is spent waiting for a process or a timer.
    return min(usable_cores() + 1, MOST_PROCESSES)


def pytest_xdist_setupnodes() -> None:
    """Compile once what each of the processes would compile at the same time."""
    for package in ("studio", "td3core"):
        compileall.compile_dir(ROOT / package, quiet=2)
    rewrite_all(ROOT / "tests", usable_cores())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests of the whole, the longest: no process waits for one at the end."""
    items.sort(key=lambda item: item.path.parent != ROOT / "tests")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Import all modules without repeated garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spare each test the cost of the many imports."""
    sys.dont_write_bytecode = _KEEPS_NOTHING
    # The collector would examine all of them, time and again.
    gc.collect()
    gc.freeze()
    # Around each part of a test, pytest adds two handlers to every logger that does not propagate;
    # torch makes forty of them.
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True


def pytest_unconfigure() -> None:
    """Remove the folders of this process."""
    _OWN.cleanup()


@pytest.fixture
def stretched() -> Iterator[None]:
    """Put translated texts into brackets, and make them longer."""
    text.install(Stretched())
    yield
    text.install(gettext.NullTranslations())


@pytest.fixture(scope="session", autouse=True)
def _scripted_environments() -> Iterator[None]:
    with register_fixed():
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_children(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fork the children of quick tests; those of long tests are started as for users."""
    if request.config.option.markexpr != QUICK or not hasattr(os, "fork"):
        yield
        return
    with quick_children():
        yield


@pytest.fixture
def scripted() -> Iterator[Callable[[Script], str]]:
    """Give a script an environment id for the length of one test."""
    with registered() as register:
        yield register


@pytest.fixture
def no_nohup() -> Iterator[None]:
    """Let children be ended by a hang-up, though the tests may run under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def root() -> Path:
    """Return the folder of the project, where sub-processes have to run."""
    return ROOT


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """Return a folder of runs that does not exist yet."""
    return tmp_path / "runs"


@pytest.fixture(autouse=True)
def _no_code_is_allowed() -> None:
    """Forget what tests before this one were allowed to import."""
    allowed_code.replace(())


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    """Fail a test that leaves behind a thread or a child process."""
    threads, children = _threads(), _descendants()
    yield
    end = time.monotonic() + GRACE_S
    while (left := (_threads() - threads) | _left(children)) and time.monotonic() < end:
        time.sleep(0.01)
    if left:
        pytest.fail(f"the test left running: {', '.join(sorted(map(str, left)))}")


def _threads() -> set[object]:
    found = set(threading.enumerate())
    # A thread that Python did not start stays listed after its end; ask the system about it.
    foreign = {t for t in found if isinstance(t, threading._DummyThread)}
    if foreign:
        alive = {t.id for t in psutil.Process().threads()}
        found -= {t for t in foreign if t.native_id not in alive}
    return found


def _descendants() -> set[int]:
    if not Path("/proc/self/task").is_dir():
        return {child.pid for child in psutil.Process().children(recursive=True)}
    # Queried twice per test, and psutil would read all processes.
    found, new = set[int](), {os.getpid()}
    while new:
        new = {child for pid in new for child in _children_of(pid)} - found
        found |= new
    return found


def _children_of(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # Threads and children may end meanwhile.
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_bytes().split())
    return found


def _left(before: set[int]) -> set[object]:
    """Return the relevant children that exist now and did not before."""
    found = set[object]()
    for pid in _descendants() - before:
        with contextlib.suppress(psutil.NoSuchProcess):
            child = psutil.Process(pid)
            tracker = any("multiprocessing.resource_tracker" in part for part in child.cmdline())
            if not tracker and child.status() != psutil.STATUS_ZOMBIE:
                found.add(child)
    return found
