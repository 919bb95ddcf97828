"""Versions of packages: those present at the first query."""

from collections.abc import Iterator

import numpy as np
import pytest

from td3core.system.packages import version_of


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    version_of.cache_clear()
    yield
    version_of.cache_clear()


def test_a_version_is_that_of_what_is_loaded_whatever_is_installed_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert version_of("numpy") == np.__version__
    monkeypatch.setattr("importlib.metadata.version", lambda _: "99.0")
    assert version_of("numpy") == np.__version__


def test_a_package_that_was_missing_is_found_once_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ModuleNotFoundError):
        version_of("of-no-such-name")
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.0")
    assert version_of("of-no-such-name") == "1.0"
