"""Where updates are computed."""

import torch

from td3core.errors import RequestError


def require_device(name: str) -> None:
    """Refuse a device that is missing.

    Raises:
        RequestError: torch finds no GPU that it can use.
    """
    if name != "cuda" or torch.cuda.is_available():
        return
    if torch.version.cuda is None:
        raise RequestError("device cannot be cuda: this torch is a CPU build; use cpu.")
    raise RequestError("device cannot be cuda: torch finds no GPU; use cpu.")
