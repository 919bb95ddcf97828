"""What computes the updates of a run: the compiled update, or torch's.

Chosen by what can be had and never by a clock: the two differ in the last bits, so that a choice
that hung on the load of the computer would make runs differ that must be the same.
"""

from dataclasses import replace

from td3core.algorithm import matmul
from td3core.algorithm.fused import kernel_cache
from td3core.algorithm.td3 import TD3
from td3core.config import RunConfig
from td3core.config.run_config import COMPILED, TORCH
from td3core.errors import RequestError
from td3core.system import numerics


def resolve(config: RunConfig) -> RunConfig:
    """Return settings of a new run with its numerics class and its engine in place of ``auto``.

    Raises:
        RequestError: this process cannot compute in the class that they name, or there is no
            compiled update here.
    """
    engine = config.engine
    if engine == numerics.AUTO:
        engine = COMPILED if config.device == "cpu" and kernel_cache.works() else TORCH
    elif engine == COMPILED and not kernel_cache.works():
        raise RequestError("engine cannot be compiled: Numba or SciPy is not installed here.")
    return replace(config, engine=engine, numerics=numerics.resolve(config.numerics))


def resolve_again(config: RunConfig) -> RunConfig:
    """Return settings of a run that resumes, with what this process has in place of the missing.

    What differs then from its record is found by :mod:`td3core.algorithm.fingerprint`.
    """
    if config.engine == COMPILED and not kernel_cache.works():
        config = replace(config, engine=TORCH)
    return resolve(replace(config, numerics=numerics.current()))


def take(agent: TD3, config: RunConfig, products: str = "") -> str:
    """Let an agent compute its updates with the engine of its run.

    ``products`` are the matrix products of the torch engine on record, which are taken again.

    Returns:
        The matrix products of the torch engine; empty for the compiled update.
    """
    if config.engine == COMPILED:
        agent.use_fused()
        return ""
    if products not in (matmul.MKL, matmul.ONEDNN):
        return matmul.choose()
    matmul.use(products)
    return products


def shown(config: RunConfig, products: str) -> str:
    """Return what computes the updates, as a person reads it."""
    if config.engine == COMPILED:
        return f"the compiled update, {numerics.shown(config.numerics)} kernels"
    return f"torch, {products} products"
