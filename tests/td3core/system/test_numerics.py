"""Classes of kernels: chosen by the processor, pinned before NumPy, told to children."""

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from td3core.errors import RequestError
from td3core.system import numerics, processor
from td3core.system.child_process import python_command

PINNED = """
import json
from td3core.system import numerics
numerics.pin()
import numpy
found = [numerics.current(), numerics.kernels(), numerics.overridden(), numerics.available()]
print(json.dumps(found))
"""
portable = pytest.mark.skipif(
    numerics.natural() not in numerics.PORTABLE, reason="this processor has kernels of its own"
)


def has(monkeypatch: pytest.MonkeyPatch, machine: str, features: Iterable[str]) -> None:
    """Let this computer have another processor."""
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(processor, "features", lambda: frozenset(features))


def in_a_process(code: str, **variables: str) -> Any:
    """Return what a new process prints, with these variables and none of this one's choice."""
    told = numerics.environment_of(numerics.AUTO)
    kept = {k: v for k, v in told.items() if k not in ("OPENBLAS_CORETYPE", numerics.VARIABLE)}
    command = python_command(code)
    done = subprocess.run(command, env=kept | variables, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("machine", "features", "expected"),
    [
        ("x86_64", ("avx2", "fma", *processor.AVX512_PARTS), ("avx512", "avx2")),
        ("AMD64", ("avx2", "fma"), ("avx2",)),
        ("x86_64", ("avx2", "fma", "avx512f"), ("avx2",)),
        ("x86_64", ("avx", "sse4_2"), ("generic",)),
        ("aarch64", ("asimd",), ("neon",)),
        ("riscv64", (), ("other",)),
    ],
)
def test_a_processor_has_the_classes_of_its_instructions(
    monkeypatch: pytest.MonkeyPatch, machine: str, features: Any, expected: Any
) -> None:
    has(monkeypatch, machine, features)
    monkeypatch.setattr(numerics, "numpy_is_held_back", lambda: False)
    assert numerics.available() == expected
    assert numerics.natural() == expected[0]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("SkylakeX", "avx512"),
        ("Haswell", "avx2"),
        ("Nehalem", "generic"),
        ("Haswell SkylakeX", "other"),
        ("mkl", "other"),
        ("", "other"),
    ],
)
def test_what_a_library_uses_tells_its_class(
    monkeypatch: pytest.MonkeyPatch, names: str, expected: str
) -> None:
    monkeypatch.setattr(numerics, "available", lambda: numerics.PORTABLE)
    assert numerics.class_of_kernels(names) == expected


@portable
@pytest.mark.slow
def test_kernels_are_pinned_against_the_environment_and_children_inherit_them() -> None:
    best = numerics.natural()
    other = {"avx512": "Haswell", "avx2": "Nehalem"}[best]
    assert in_a_process(PINNED, OPENBLAS_CORETYPE=other)[:3] == [best, kernels_of(best), other]
    assert in_a_process(PINNED, **{numerics.VARIABLE: "avx2"})[:3] == ["avx2", "Haswell", ""]


@portable
@pytest.mark.slow
def test_a_class_is_chosen_in_any_case_and_one_that_the_processor_lacks_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert in_a_process(PINNED, **{numerics.VARIABLE: "AVX2"})[0] == "avx2"
    assert in_a_process(PINNED, **{numerics.VARIABLE: "banana"})[0] == numerics.natural()
    for usable in ("", "auto", "AVX2"):
        monkeypatch.setenv(numerics.VARIABLE, usable)
        assert numerics.ignored() is None
    monkeypatch.setenv(numerics.VARIABLE, "banana")
    assert str(numerics.ignored()).startswith("'banana' in TD3_STUDIO_NUMERICS is not followed")


def kernels_of(name: str) -> str:
    return {"avx512": "SkylakeX", "avx2": "Haswell"}[name]


@portable
@pytest.mark.slow
def test_a_program_that_loaded_numpy_first_computes_in_the_class_it_chose() -> None:
    """What is loaded stays: pinning comes too late, and the class is looked up."""
    found = in_a_process("import numpy\n" + PINNED, OPENBLAS_CORETYPE="Haswell")
    assert found[:3] == ["avx2", "Haswell", ""]


@portable
@pytest.mark.slow
def test_numpy_without_its_fast_functions_belongs_to_no_portable_class() -> None:
    assert in_a_process(PINNED, NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4")[0] == "generic"


def test_a_new_run_takes_the_class_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    here = numerics.current()
    assert numerics.resolve("auto") == numerics.resolve(here) == here
    missing = "neon" if here != "neon" else "avx2"
    with pytest.raises(RequestError, match=f"numerics cannot be {missing}: this processor has no"):
        numerics.resolve(missing)
    monkeypatch.setattr(numerics, "available", lambda: (here, missing))
    with pytest.raises(RequestError, match="Set TD3_STUDIO_NUMERICS to"):
        numerics.resolve(missing)
    assert numerics.needs_other_process(missing)
    assert not numerics.needs_other_process(here)
    assert not numerics.needs_other_process("auto")


MODERN, OLDER, ANCIENT = ("avx512", "avx2"), ("avx2",), ("generic",)


@pytest.mark.parametrize(
    ("setting", "earlier", "machines", "expected", "says"),
    [
        ("auto", "", [MODERN], "avx512", ""),
        ("auto", "", [MODERN, OLDER, MODERN], "avx2", "all runs use numerics class avx2"),
        ("auto", "", [MODERN, ANCIENT], "other", "all runs use numerics class other"),
        ("auto", "avx2", [MODERN], "avx2", ""),
        ("auto", "avx512", [OLDER], "avx2", "Earlier runs were trained in numerics class avx512"),
        ("avx2", "", [MODERN], "avx2", ""),
        ("avx2", "avx512", [MODERN], "avx2", "new ones are trained in avx2"),
    ],
)
def test_machines_share_the_fastest_class_that_all_have_and_it_is_said(
    setting: str, earlier: str, machines: Any, expected: str, says: str
) -> None:
    name, sentence = numerics.shared_class(setting, earlier, machines)
    assert name == expected
    assert says in str(sentence or "")
    assert bool(says) == (sentence is not None)


def test_a_class_that_a_machine_lacks_is_refused_for_all() -> None:
    with pytest.raises(RequestError, match="they share avx2"):
        numerics.shared_class("avx512", "", [MODERN, OLDER])


def test_what_slows_the_libraries_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "SkylakeX", "HOME": "/"}
    monkeypatch.setattr(numerics, "_overridden", [])
    assert numerics.slowing_variables(found) == {"ATEN_CPU_CAPABILITY": "default"}
    found["OPENBLAS_CORETYPE"] = "Nehalem"
    assert numerics.slowing_variables(found)["OPENBLAS_CORETYPE"] == "Nehalem"
    monkeypatch.setattr(numerics, "_overridden", ["Haswell"])
    assert numerics.slowing_variables(found)["OPENBLAS_CORETYPE"] == "Haswell"


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's description")
def test_the_processor_of_this_machine_has_a_name_and_instructions() -> None:
    assert processor.name()
    assert processor.name() in processor.kind()
    assert processor.features()


def test_a_processor_is_told_from_linuxs_description(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("vendor_id\t: GenuineIntel", "cpu family\t: 6", "model\t\t: 143", "model name\t: Xeon")
    text = "\n".join((*lines, "flags\t: a b"))
    for part in (processor.name, processor.kind, processor.maker, processor.features):
        part.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(processor, "cpuinfo", lambda: text)
        assert (processor.name(), processor.kind()) == ("Xeon", "Xeon 6 143")
        assert (processor.maker(), processor.features()) == ("GenuineIntel", {"a", "b"})
    for part in (processor.name, processor.kind, processor.maker, processor.features):
        part.cache_clear()
