"""Exports only the networks of a checkpoint."""

from dataclasses import replace
from pathlib import Path

from td3core.checkpoint.format import load, save
from td3core.checkpoint.header import Checkpoint
from td3core.checkpoint.shapes import network_shapes, statistics_shapes


def export(checkpoint: Path, target: Path) -> None:
    """Copy the networks of a checkpoint, and the normaliser they need."""
    write(load(checkpoint), target)


def write(source: Checkpoint, target: Path) -> None:
    """Write the networks of an agent already read."""
    header = replace(source.header, complete=False)
    wanted = network_shapes(header) | statistics_shapes(header)
    tensors = {name: array for name, array in source.tensors.items() if name in wanted}
    save(target, header, tensors)
