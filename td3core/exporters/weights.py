"""The networks of a checkpoint on their own: enough to act, a quarter of the size."""

from dataclasses import fields
from pathlib import Path

from td3core.checkpoint.format import load, save
from td3core.checkpoint.header import Header

_EXPORTED = ("actor", "critic1", "critic2", "obs_norm")


def export(source: Path, target: Path) -> None:
    """Copy only the networks of a checkpoint: enough to act and to look at, a quarter the size."""
    checkpoint = load(source)
    slim = {
        name: array for name, array in checkpoint.tensors.items() if name.split(".")[0] in _EXPORTED
    }
    values = {item.name: getattr(checkpoint.header, item.name) for item in fields(Header)}
    save(target, Header(**(values | {"complete": False})), slim)
