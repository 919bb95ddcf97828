"""Choosing between torch's matrix products: never one that rounds, never by chance."""

from collections.abc import Iterator

import pytest
import torch

from td3core.algorithm import matmul
from td3core.protocol.events import Started
from tests.td3core.helpers import run

LARGE = {"steps": 5, "batch_size": 64, "critic_hidden": (64,)}


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    matmul.use(matmul.MKL)


def pretend(monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float], error: float) -> None:
    """Let both products take these times, and the other one have this many times the error."""
    errors = {matmul.MKL: 1e-5, matmul.ONEDNN: error * 1e-5}
    monkeypatch.setattr(matmul, "_product", lambda name, a, b: torch.full((1,), errors[name]))
    monkeypatch.setattr(matmul, "_seconds", lambda name, a, b: seconds[name])
    monkeypatch.setattr(matmul, "_error", lambda name, a, b: errors[name])


@pytest.mark.parametrize(
    ("usual", "other", "error", "chosen"),
    [
        (2.0, 1.0, 1.5, matmul.ONEDNN),
        (2.0, 1.0, 1000.0, matmul.MKL),
        (1.1, 1.0, 1.0, matmul.MKL),
        (1.0, 2.0, 1.0, matmul.MKL),
    ],
    ids=["faster and exact", "faster but rounds", "hardly faster", "slower"],
)
def test_the_other_product_is_used_only_if_it_is_clearly_faster_and_as_exact(
    monkeypatch: pytest.MonkeyPatch, usual: float, other: float, error: float, chosen: str
) -> None:
    pretend(monkeypatch, {matmul.MKL: usual, matmul.ONEDNN: other}, error)
    assert matmul.choose(256, 256) == chosen
    flag = torch.backends.mkldnn.matmul.fp32_precision
    assert flag == ("bf16" if chosen == matmul.ONEDNN else "none")


def test_whatever_is_chosen_here_is_true_fp32() -> None:
    matmul.choose(256, 256)
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    error = (a @ b - (a.double() @ b.double())).abs().max()
    assert error < 5e-4


def test_a_run_says_how_it_multiplies_and_chooses_anew(
    runs_dir, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, {matmul.MKL: 2.0, matmul.ONEDNN: 1.0}, 1.5)
    _, told = run(runs_dir, **LARGE)
    assert told.all(Started)[0].products == matmul.ONEDNN
    pretend(monkeypatch, {matmul.MKL: 1.0, matmul.ONEDNN: 1.0}, 1.0)
    _, told = run(runs_dir, **LARGE)
    assert told.all(Started)[0].products == matmul.MKL


def test_on_a_processor_with_but_one_product_nothing_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, {matmul.MKL: 2.0, matmul.ONEDNN: 1.0}, 1.0)
    monkeypatch.setattr(matmul, "_product", lambda name, a, b: torch.ones(1))
    assert matmul.choose(256, 256) == matmul.MKL


def test_for_small_networks_nothing_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {matmul.MKL: 2.0, matmul.ONEDNN: 1.0}, 1.0)
    assert matmul.choose(256, 16) == matmul.MKL
