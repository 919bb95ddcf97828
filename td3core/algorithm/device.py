"""Where updates are computed."""

import torch

from td3core.errors import RequestError


def require_device(name: str) -> None:
    """Refuse a device that is not there.

    Raises:
        RequestError: torch finds no graphics processor that it can use.
    """
    if name == "cuda" and not torch.cuda.is_available():
        build = "this torch is a build for processors only" if torch.version.cuda is None else ""
        raise RequestError(
            f"device cannot be cuda: {build or 'torch finds no graphics processor'}; take cpu."
        )
