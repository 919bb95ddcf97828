"""Signs of life of the renderer, in memory that its process shares with the window.

A thread beats as long as the process runs at all; the loop notes when it begins to wait for the
environment. This distinguishes a stopped or dead process from a slow environment. While an agent is
being loaded, the thread also watches the progress.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import NamedTuple

from studio.replay.renderer.hang_detector import HangDetector

BEAT_S = 0.2
LOOK_S = 0.05
"""Seconds between two samples; a loop is recognised once each of its functions was seen."""
_START_S = 2.0
"""How long an interpreter may take to start."""


class LifeSigns(NamedTuple):
    """Signs of a living renderer; in seconds of the system's monotonic clock."""

    beat: "Synchronized[float]"
    """When the process last ran; in the future while it may still be starting."""
    waiting_since: "Synchronized[float]"
    """When a pending step or picture was requested from the environment; 0 if none is pending."""
    loading: "Synchronized[int]"
    """1 while the pending request is to load an agent, which may take long."""
    idle_s: "Synchronized[float]"
    """How long loading has made no progress, see :class:`HangDetector`."""


def new_signs() -> LifeSigns:
    """Make the memory, in the window's process."""
    context = get_context("spawn")
    # Without locks: a process killed while it holds one would block the window.
    return LifeSigns(
        context.Value("d", time.monotonic() + _START_S, lock=False),
        context.Value("d", 0.0, lock=False),
        context.Value("i", 0, lock=False),
        context.Value("d", 0.0, lock=False),
    )


class Heartbeat:
    """Writes the signs, in the main thread of the renderer's process."""

    def __init__(self, signs: LifeSigns) -> None:
        self._signs, self._over = signs, threading.Event()
        self._watched = threading.current_thread()
        self._detector: HangDetector | None = None
        """Detector for the agent being loaded."""
        signs.beat.value = time.monotonic()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    @contextmanager
    def waiting(self, *, loading: bool) -> Iterator[None]:
        """Mark a request to the environment as pending until it answers."""
        self._signs.loading.value, self._signs.idle_s.value = int(loading), 0.0
        self._detector = HangDetector(self._watched) if loading else None
        self._signs.waiting_since.value = time.monotonic()
        try:
            yield
        finally:
            self._signs.waiting_since.value, self._detector = 0.0, None

    def stop(self) -> None:
        """End the thread."""
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(LOOK_S if self._detector else BEAT_S):
            self._signs.beat.value = time.monotonic()
            if detector := self._detector:
                self._signs.idle_s.value = detector.idle_s()
