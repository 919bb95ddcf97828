"""Checks that the device exists and that the networks fit into memory."""

import torch

from td3core.config import RunConfig, Tunables, values_of
from td3core.config.network_size import network_bytes
from td3core.config.networks import Sizes
from td3core.errors import RequestError
from td3core.system.capacity import usable_memory
from td3core.text import SettingName


def require_device(name: str) -> None:
    """Refuse a device that is not available.

    Raises:
        RequestError: torch finds no GPU that it can use.
    """
    if name != "cuda" or torch.cuda.is_available():
        return
    if torch.version.cuda is None:
        raise RequestError(
            "{key} cannot be cuda: this torch is a CPU build; use cpu.", key=SettingName("device")
        )
    raise RequestError(
        "{key} cannot be cuda: torch finds no GPU; use cpu.", key=SettingName("device")
    )


def require_memory(config: RunConfig, tunables: Tunables, sizes: Sizes) -> None:
    """Refuse networks that do not fit into this machine's memory.

    Raises:
        RequestError: they do not; the message gives the memory they need.
    """
    needed, room = network_bytes(config, tunables, sizes), usable_memory()
    if needed > room:
        raise RequestError(
            "These networks and {key} {batch} take {needed:.1f} GiB; this machine has"
            " {room:.1f} GiB. Choose smaller {other} or {third}.",
            key=SettingName("batch_size"),
            other=SettingName("actor_hidden"),
            third=SettingName("critic_hidden"),
            batch=max(values_of(tunables, "batch_size")),
            needed=needed / 2**30,
            room=room / 2**30,
        )
