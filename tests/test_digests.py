"""The same bits in each numerics class, on every processor: compared with a table that grows.

tests/support/digests.py computes them, ``--meet`` adds the processor at hand to the table.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from td3core.system import numerics
from tests.support.digests import TABLE

RECORDED: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
NO_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
ELSEWHERE = {
    # What keeps the libraries from instructions that this processor has. Not from AVX2: without
    # it, NumPy's functions belong to no portable class.
    "an older processor": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NUMBA_CPU_NAME": "haswell",
        "NPY_DISABLE_CPU_FEATURES": NO_AVX512,
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "another maker's": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "NUMBA_CPU_NAME": "znver2",
        "NPY_DISABLE_CPU_FEATURES": NO_AVX512,
        "OPENBLAS_CORETYPE": "Zen",
    },
    "a much older one": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "AVX",
        "NUMBA_CPU_NAME": "sandybridge",
        "OPENBLAS_CORETYPE": "Sandybridge",
    },
}


def digests(root: Path, name: str, variables: dict[str, str]) -> dict[str, Any]:
    """Return what a process of this class finds."""
    environment = numerics.environment_of(name) | variables | {numerics.VARIABLE: name}
    command = [sys.executable, "-m", "tests.support.digests"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def require_same(found: dict[str, Any], name: str) -> None:
    assert found["class"] == name
    table = RECORDED[name]
    if found["versions"] != table["versions"]:
        pytest.skip(f"recorded with other versions: {table['versions']}")
    # A case that was added after a class was met has no digest there.
    assert {case: found["digests"][case] for case in table["digests"]} == table["digests"]


@pytest.mark.parametrize(
    "name",
    [
        name if name == numerics.current() else pytest.param(name, marks=pytest.mark.slow)
        for name in numerics.PORTABLE
    ],
)
def test_a_class_gives_the_recorded_bits_here(root: Path, name: str) -> None:
    if name not in numerics.available():
        pytest.skip(f"this processor has no {numerics.shown(name)} instructions")
    require_same(digests(root, name, {}), name)


@pytest.mark.release
@pytest.mark.parametrize("processor", ELSEWHERE)
@pytest.mark.parametrize("name", numerics.PORTABLE)
def test_a_class_gives_the_same_bits_whatever_instructions_libraries_take(
    root: Path, tmp_path: Path, name: str, processor: str
) -> None:
    if name not in numerics.available():
        pytest.skip(f"this processor has no {numerics.shown(name)} instructions")
    variables = ELSEWHERE[processor] | {"XDG_CACHE_HOME": str(tmp_path)}
    require_same(digests(root, name, variables), name)


def test_a_stopped_and_resumed_run_has_the_digest_of_the_whole() -> None:
    for name in numerics.PORTABLE:
        found = RECORDED[name]["digests"]
        assert found["run with evaluations"] == found["the same, stopped and resumed"]
    one, other = (RECORDED[name]["digests"] for name in numerics.PORTABLE)
    assert one["run with evaluations"] != other["run with evaluations"]
