"""Disk space of a run: estimated from its settings, and measured."""

import os
import shutil
from pathlib import Path

from td3core.buffer.replay_buffer import ring_rows
from td3core.buffer.rows import RowLayout
from td3core.config import RunConfig
from td3core.config.networks import Sizes, networks

_COPIES = 4
"""Copies of each weight: online, target, and two moments of Adam."""


def buffer_bytes(config: RunConfig, sizes: Sizes) -> int:
    """Return the size of the replay buffer's file at the end of the run, 0 if it is not kept."""
    if not config.keep_replay:
        return 0
    layout = RowLayout.of(*sizes)
    return min(ring_rows(config.buffer_size, layout, kept=True), config.steps) * layout.bytes


def checkpoint_bytes(config: RunConfig, sizes: Sizes) -> int:
    """Return the approximate size of one checkpoint."""
    groups = networks(config, sizes).values()
    return 4 * _COPIES * sum(len(group.names) * group.parameters for group in groups)


def checkpoint_count(config: RunConfig) -> int:
    """Return the number of checkpoints on disk after the run, including best and last."""
    along_the_way = config.steps // config.checkpoint_interval if config.checkpoint_interval else 0
    staying = along_the_way // config.keep_every if config.keep_every else 0
    best = config.keep_best if config.eval_interval else 0
    return min(staying + best, along_the_way) + 1 + bool(config.eval_interval)


def free_bytes(folder: Path) -> int | None:
    """Return the free space on the drive of a folder, which need not exist; None if unknown."""
    for existing in (folder.absolute(), *folder.absolute().parents):
        if existing.is_dir():
            try:
                return shutil.disk_usage(existing).free
            except OSError:
                return None
    return None


def used_bytes(folder: Path) -> int:
    """Return the disk space of a folder, counting hard-linked files once."""
    found: dict[tuple[int, int] | str, int] = {}
    for here, _, names in os.walk(folder):
        for name in names:
            path = Path(here, name)
            try:
                about = path.lstat()
            except OSError:
                continue
            key = (about.st_dev, about.st_ino) if about.st_ino else str(path)
            # The file of the replay buffer is sparse: holes take no space.
            blocks = getattr(about, "st_blocks", None)
            found[key] = about.st_size if blocks is None else 512 * blocks
    return sum(found.values())
