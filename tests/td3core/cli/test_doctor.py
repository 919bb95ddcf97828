"""The doctor's findings on the processor and its kernels."""

import pytest

from td3core.cli import doctor
from td3core.system import numerics, processor


def findings() -> dict[str, str]:
    return {each.what: each.value for each in doctor.examine_numerics()}


def test_it_shows_class_kernels_and_the_time_of_a_product() -> None:
    found = findings()
    shown = found["numerics class"]
    assert shown.startswith(f"{numerics.current()} ({numerics.kernels()} kernels)")
    for library in ("NumPy", "torch"):
        assert 1 < float(found[f"a product by {library}"].partition(" ")[0]) < 1e6


def test_it_names_what_in_the_environment_slows_the_libraries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        numerics,
        "slowing_variables",
        lambda: {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "default"},
    )
    monkeypatch.setattr(numerics, "overridden", lambda: "Haswell")
    found = findings()
    assert found["OPENBLAS_CORETYPE"] == "Haswell in the environment is not followed"
    assert found["ATEN_CPU_CAPABILITY"] == "default in the environment may slow the libraries"


def test_it_says_that_the_class_chosen_is_none_of_this_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(numerics.VARIABLE, "banana")
    said = [each.value for each in doctor.examine_numerics() if each.ok is False]
    assert said[0].startswith("'banana' in TD3_STUDIO_NUMERICS is not followed")


def test_the_processor_is_named() -> None:
    first = next(each for each in doctor.examine() if each.what == "processor")
    assert first.value.startswith(processor.name())
