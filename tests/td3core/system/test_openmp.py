"""How long OpenMP's threads wait."""

import os

import pytest

from td3core.system.openmp import shorten_waits


def test_waits_are_shortened_unless_the_user_has_set_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "kept")  # So that it is restored.
        monkeypatch.delenv(name)
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    shorten_waits()
    assert os.environ["GOMP_SPINCOUNT"] == "7"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    shorten_waits()
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.delenv("OMP_WAIT_POLICY")
    shorten_waits()
    assert int(os.environ["GOMP_SPINCOUNT"]) < 300_000  # What GNU's OpenMP takes by itself.
