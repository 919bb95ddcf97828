"""Compiling the update: by one process at a time."""

from pathlib import Path

import platformdirs
import pytest

from td3core.algorithm.fused import compile as fused_compile
from td3core.algorithm.fused import kernel_cache


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return what is compiled into a cache of its own; nothing is really."""
    done: list[str] = []
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_: tmp_path)
    monkeypatch.setattr(fused_compile, "compile_kernel", lambda: done.append("update"))
    monkeypatch.setattr("os.nice", lambda _: 0)
    return done


def test_a_second_process_leaves_compiling_to_the_first(compiled: list[str]) -> None:
    with kernel_cache.compiler_lock(wait=False):
        fused_compile.main()
    assert compiled == []


def test_once_the_first_is_gone_another_compiles(compiled: list[str]) -> None:
    with kernel_cache.compiler_lock(wait=False):
        pass
    fused_compile.main()
    fused_compile.main(wait=True)
    assert compiled == ["update", "update"]
