"""A player that leaves nothing behind."""

from tests.studio.replay.conftest import player

__all__ = ["player"]
