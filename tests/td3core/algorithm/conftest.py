"""Everything that holds of an update holds of both implementations."""

from collections.abc import Iterator

import pytest
import torch

from td3core.algorithm.fused import kernel_cache
from tests.td3core.helpers import ENGINES, engine

_BOTH = (
    "test_td3.py",
    "test_td3_reference.py",
    "test_gradients.py",
    "test_against_stable_baselines.py",
    "test_trace.py",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run these files with torch and with the compiled update."""
    if metafunc.definition.path.name in _BOTH:
        metafunc.parametrize("_engine", list(ENGINES), indirect=True)


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """As for networks of these sizes; two threads would spend their time waiting for each other."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def kernel() -> None:
    """The compiled update, loaded; the first time ever it is compiled, which takes a while."""
    kernel_cache.provide()


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest) -> Iterator[None]:
    name = getattr(request, "param", "torch")
    if name != "torch":
        request.getfixturevalue("kernel")
    with engine(name):
        yield
