"""What computes the updates of a run: the compiled update, or torch's.

Chosen by what can be had and never by a clock: the two differ in the last bits, so that a choice
that hung on the load of the computer would make runs differ that must be the same.
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
"""Those that the compiled update has; torch has all."""


def resolve(config: RunConfig) -> RunConfig:
    """Return settings of a new run with its numerics class and its engine in place of ``auto``.

    Raises:
        RequestError: this process cannot compute in the class that they name, or there is no
            compiled update here or of that algorithm.
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
    """Return settings of a run that resumes, with what this process has in place of the missing.

    What differs then from its record is found by :mod:`td3core.algorithm.fingerprint`.
    """
    if config.engine == COMPILED and not kernel_cache.works():
        config = replace(config, engine=TORCH)
    return resolve(replace(config, numerics=numerics.current()))


def take_products(config: RunConfig, recorded: str = "") -> str:
    """Let the torch engine multiply as on record, or as suits this processor.

    Returns:
        The matrix products of the torch engine; empty for the compiled update.
    """
    if config.engine == COMPILED:
        return ""
    if recorded not in (matmul.MKL, matmul.ONEDNN):
        return matmul.choose()
    matmul.use(recorded)
    return recorded


def shown(config: RunConfig, products: str) -> Text:
    """Return what computes the updates, as a person reads it."""
    if config.engine == COMPILED:
        return Text(
            "the compiled update, {kernels} kernels", kernels=numerics.shown(config.numerics)
        )
    return Text("torch, {products} products", products=products)
