"""Chooses the engine of a run's updates: the compiled update, or torch's.

The choice depends on availability, never on timing: the two differ in the last bits, so a choice
that depended on the computer's load would make identical runs differ.
"""

from dataclasses import replace

from td3core.algorithm import matmul
from td3core.algorithm.fused import kernel_cache
from td3core.config import RunConfig
from td3core.config.algorithms import DDPG, TD3, TQC
from td3core.config.run_config import COMPILED, TORCH
from td3core.errors import RequestError
from td3core.system import numerics
from td3core.text import SettingName, Text

COMPILED_ALGORITHMS = (TD3, DDPG, TQC)
"""Algorithms that the compiled update supports; torch supports all."""


def resolve(config: RunConfig) -> RunConfig:
    """Return settings of a new run with ``auto`` replaced by its numerics class and engine.

    Raises:
        RequestError: this process does not have the numerics class set, or the compiled update is
            not available here or does not support the algorithm.
    """
    engine, has_it = config.engine, config.algorithm in COMPILED_ALGORITHMS
    if engine == numerics.AUTO:
        can = config.device == "cpu" and has_it and kernel_cache.works()
        engine = COMPILED if can else TORCH
    elif engine == COMPILED and not has_it:
        raise RequestError(
            "{key} cannot be compiled: it has no {algorithm}; use torch.",
            key=SettingName("engine"),
            algorithm=config.algorithm,
        )
    elif engine == COMPILED and not kernel_cache.works():
        raise RequestError(
            "{key} cannot be compiled: Numba or SciPy is not installed here.",
            key=SettingName("engine"),
        )
    return replace(config, engine=engine, numerics=numerics.resolve(config.numerics))


def resolve_again(config: RunConfig) -> RunConfig:
    """Return settings of a resumed run, with engine and class replaced if unavailable here.

    :mod:`td3core.algorithm.fingerprint` then finds the differences from its record.
    """
    if config.engine == COMPILED and not kernel_cache.works():
        config = replace(config, engine=TORCH)
    return resolve(replace(config, numerics=numerics.current()))


def take_products(config: RunConfig, recorded: str = "") -> str:
    """Select the matrix products of the torch engine: as recorded, or by the processor.

    Returns:
        The name of these products; empty for the compiled update.
    """
    if config.engine == COMPILED:
        return ""
    if recorded not in (matmul.MKL, matmul.ONEDNN):
        return matmul.choose()
    matmul.use(recorded)
    return recorded


def shown(config: RunConfig, products: str) -> Text:
    """Return the engine's name as shown to the user."""
    if config.engine == COMPILED:
        return Text(
            "the compiled update, {kernels} kernels", kernels=numerics.shown(config.numerics)
        )
    return Text("torch, {products} products", products=products)
