"""The engine of a run's updates: chosen by availability, recorded, used again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from td3core.algorithm import engine, matmul
from td3core.algorithm.fused import kernel_cache
from td3core.config import check_together
from td3core.errors import RequestError
from td3core.system import numerics, processor
from tests.td3core.helpers import tiny


@pytest.fixture(autouse=True)
def _products() -> Iterator[None]:
    """Leave torch's products as they were."""
    before = torch.backends.mkldnn.matmul.fp32_precision
    yield
    torch.backends.mkldnn.matmul.fp32_precision = before


@contextmanager
def busy() -> Iterator[None]:
    """Keep both cores busy."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            torch.mm(torch.ones(300, 300), torch.ones(300, 300))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_run_takes_the_compiled_update_wherever_it_works_whatever_else_runs() -> None:
    config, _ = tiny()
    with busy():
        found = {engine.resolve(config) for _ in range(20)}
    assert {each.engine for each in found} == {"compiled"}
    assert {each.numerics for each in found} == {numerics.current()}


def test_where_there_is_no_compiler_a_run_takes_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "works", lambda: False)
    config, _ = tiny()
    assert engine.resolve(config).engine == "torch"
    with pytest.raises(RequestError, match="engine cannot be compiled"):
        engine.resolve(tiny(engine="compiled")[0])
    # A resumed run reports this through its record instead (see test_fingerprint.py).
    assert engine.resolve_again(tiny(engine="compiled")[0]).engine == "torch"


def test_a_gpu_takes_torch_and_refuses_the_compiled_update() -> None:
    assert engine.resolve(tiny(device="cuda")[0]).engine == "torch"
    with pytest.raises(RequestError, match="engine compiled needs device cpu, not cuda"):
        check_together(*tiny(device="cuda", engine="compiled"))


def test_torch_takes_the_products_on_record_again() -> None:
    config, _ = tiny(engine="torch")
    for name, flag in ((matmul.ONEDNN, "bf16"), (matmul.MKL, "none")):
        assert engine.take_products(config, name) == name
        assert torch.backends.mkldnn.matmul.fp32_precision == flag
    assert engine.take_products(config, "others") == matmul.choose()


@pytest.mark.parametrize(
    ("maker", "classes", "exact", "chosen"),
    [
        ("AuthenticAMD", ("avx512", "avx2"), True, matmul.ONEDNN),
        ("AuthenticAMD", ("avx512", "avx2"), False, matmul.MKL),
        ("AuthenticAMD", ("avx2",), True, matmul.MKL),
        ("GenuineIntel", ("avx512", "avx2"), True, matmul.MKL),
    ],
)
def test_torchs_products_go_by_the_processor(
    monkeypatch: pytest.MonkeyPatch, maker: str, classes: tuple[str, ...], exact: bool, chosen: str
) -> None:
    monkeypatch.setattr(processor, "maker", lambda: maker)
    monkeypatch.setattr(matmul, "available", lambda: classes)
    errors = {matmul.MKL: 1e-6, matmul.ONEDNN: 1e-6 if exact else 1e-2}
    monkeypatch.setattr(matmul, "_error", errors.__getitem__)
    assert matmul.choose() == chosen


def test_whatever_is_chosen_here_is_true_fp32() -> None:
    matmul.choose()
    a = torch.rand(256, 256, generator=torch.Generator().manual_seed(0))
    error = (torch.mm(a, a).double() - a.double() @ a.double()).abs().max()
    assert error < 1e-3
