"""Exports only the networks of a checkpoint."""

from dataclasses import replace
from pathlib import Path

from td3core.checkpoint.format import load, save

_NETWORKS = ("actor", "critic1", "critic2", "obs_norm")
"""First parts of the names of exported tensors."""


def export(checkpoint: Path, target: Path) -> None:
    """Copy the networks of a checkpoint, and the normaliser they need."""
    source = load(checkpoint)
    tensors = {
        name: array for name, array in source.tensors.items() if name.split(".")[0] in _NETWORKS
    }
    save(target, replace(source.header, complete=False), tensors)
