"""Rewrites the assertions of test modules once, for all processes that run them.

Each would do it for all modules of the suite at the same time, which takes longer than to import
them. pytest keeps what it rewrites, but has no public way to do it without running the module.
"""

import contextlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from _pytest.assertion import rewrite


def rewrite_all(root: Path, processes: int) -> None:
    """Rewrite what pytest will collect below a folder, in this many processes."""
    paths = [str(path) for name in ("test_*.py", "conftest.py") for path in root.rglob(name)]
    shares = [share for i in range(processes) if (share := sorted(paths)[i::processes])]
    # Not looking for modules in the folder of this one.
    command = [sys.executable, "-P", __file__]
    started = [subprocess.Popen([*command, *share]) for share in shares]
    for process in started:
        process.wait()


def rewrite_missing(paths: Sequence[Path]) -> None:
    """Rewrite the modules that were not rewritten since they were changed."""
    state = SimpleNamespace(trace=lambda _: None)
    for path in paths:
        folder = rewrite.get_cache_dir(path)
        target = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(folder) and rewrite._read_pyc(path, target) is None:
            version, code = rewrite._rewrite_test(path, None)
            rewrite._write_pyc(state, code, version, target)


if __name__ == "__main__":
    # Another version of pytest may have other names; then each process rewrites for itself.
    with contextlib.suppress(AttributeError, TypeError):
        rewrite_missing([Path(word) for word in sys.argv[1:]])
