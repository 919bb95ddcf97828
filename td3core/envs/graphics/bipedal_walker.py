"""Renders BipedalWalker at the same cost everywhere on its course.

Gymnasium draws, flips and copies the whole course up to the walker and then crops the picture,
which takes longer with every step.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pygame
from gymnasium.envs.box2d.bipedal_walker import (
    SCALE,
    TERRAIN_HEIGHT,
    TERRAIN_STEP,
    VIEWPORT_H,
    VIEWPORT_W,
)
from numpy.typing import NDArray
from pygame import gfxdraw

_SKY, _CLOUD = (215, 215, 255), (255, 255, 255)
_RAY, _POLE, _FLAG = (255, 0, 0), (0, 0, 0), (230, 51, 0)
_RAY_CYCLE = 100
"""Pictures after which the first ray of the lidar is drawn again."""
_MARGIN = 500
"""Columns drawn left of the picture. The widest cloud is narrower: a line that began at the
picture's edge would be antialiased differently."""

Points = Sequence[Sequence[float]]


class WalkerPainter:
    """Draws a walker exactly as ``BipedalWalker.render`` in mode ``rgb_array``."""

    def __init__(self, walker: Any) -> None:
        """``walker``: the unwrapped environment."""
        self._walker = walker
        self._terrain: list[Any] | None = None
        """The bodies that ``_ground`` was made from."""
        self._ground: list[tuple[Points, Any]] = []
        """Outlines in pixels of the course, and the bodies."""
        self._surface = pygame.Surface((1, 1))
        self._left = 0
        """Column of the course where the surface begins."""

    def __call__(self) -> NDArray[np.uint8]:
        """Return the picture, shape (height, width, 3)."""
        scrolled = self._walker.scroll * SCALE
        first = int(VIEWPORT_W + max(0.0, scrolled)) - VIEWPORT_W
        margin = min(first, _MARGIN)
        self._left = first - margin
        self._surface = pygame.Surface((VIEWPORT_W + margin, VIEWPORT_H))
        self._draw_background(scrolled)
        self._draw_ray()
        self._draw_bodies()
        self._draw_flag()
        seen = self._surface.subsurface((margin, 0, VIEWPORT_W, VIEWPORT_H))
        pixels = bytearray(pygame.image.tobytes(seen, "RGB", True))
        return np.frombuffer(pixels, np.uint8).reshape(VIEWPORT_H, VIEWPORT_W, 3)

    def _draw_background(self, scrolled: float) -> None:
        walker, right = self._walker, scrolled + VIEWPORT_W
        sky = (scrolled, 0), (right, 0), (right, VIEWPORT_H), (scrolled, VIEWPORT_H)
        self._fill(sky, _SKY)
        begin, width = walker.scroll, VIEWPORT_W / SCALE
        for outline, x1, x2 in walker.cloud_poly:
            # Clouds are far away: they move half as fast.
            if begin / 2 <= x2 and x1 <= begin / 2 + width:
                cloud = [(x * SCALE + scrolled / 2, y * SCALE) for x, y in outline]
                self._fill_smoothly(cloud, _CLOUD)
        for outline, color in walker.terrain_poly:
            if begin <= outline[1][0] and outline[0][0] <= begin + width:
                self._fill_smoothly([(x * SCALE, y * SCALE) for x, y in outline], color)

    def _draw_ray(self) -> None:
        """Draw one ray of the lidar, a different one in each picture."""
        walker = self._walker
        walker.lidar_render = at = (walker.lidar_render + 1) % _RAY_CYCLE
        rays = walker.lidar
        if at >= 2 * len(rays):
            return
        ray = rays[at] if at < len(rays) else rays[len(rays) - at - 1]
        if hasattr(ray, "p1") and hasattr(ray, "p2"):
            ends = [(x * SCALE, y * SCALE) for x, y in (ray.p1, ray.p2)]
            start, end = self._pixels(ends)
            pygame.draw.line(self._surface, _RAY, start, end)

    def _draw_bodies(self) -> None:
        walker = self._walker
        if walker.terrain is not self._terrain:
            # The ground does not change during an episode.
            self._terrain = walker.terrain
            self._ground = [
                (outline, body) for body in walker.terrain for outline in _outlines(body)
            ]
        right = self._left + self._surface.get_width()
        for outline, body in self._ground:
            columns = [x for x, _ in outline]
            if min(columns) <= right and max(columns) >= self._left:
                self._draw_body(outline, body)
        for body in walker.drawlist[len(walker.terrain) :]:
            for outline in _outlines(body):
                self._draw_body(outline, body)

    def _draw_body(self, outline: Points, body: Any) -> None:
        if len(outline) == 2:
            self._line(outline, body.color1)
            return
        self._fill_smoothly(outline, body.color1)
        border = self._pixels([*outline, outline[0]])
        pygame.draw.polygon(self._surface, body.color2, border, 1)
        gfxdraw.aapolygon(self._surface, border, body.color2)

    def _draw_flag(self) -> None:
        """Draw the flag at the start."""
        x, ground = TERRAIN_STEP * 3 * SCALE, TERRAIN_HEIGHT * SCALE
        top = ground + 50
        self._line([(x, ground), (x, top)], _POLE)
        flag = [(x, top), (x, top - 10), (x + 25, top - 5)]
        self._fill(flag, _FLAG)
        pygame.draw.lines(self._surface, _POLE, False, self._pixels([*flag, flag[0]]))

    def _fill(self, outline: Points, color: Any) -> None:
        pygame.draw.polygon(self._surface, color, self._pixels(outline))

    def _fill_smoothly(self, outline: Points, color: Any) -> None:
        self._fill(outline, color)
        gfxdraw.aapolygon(self._surface, self._pixels(outline), color)

    def _line(self, ends: Points, color: Any) -> None:
        start, end = ((x - self._left, y) for x, y in ends)
        pygame.draw.aaline(self._surface, color, start, end)

    def _pixels(self, points: Points) -> list[tuple[int, int]]:
        """Return the positions of points of the course on the surface."""
        # Rounded before shifting, to get Gymnasium's pixels.
        return [(int(x) - self._left, int(y)) for x, y in points]


def _outlines(body: Any) -> list[Points]:
    """Return the outline of each part of a body, in pixels of the course."""
    place = body.transform
    return [
        [tuple(place * vertex * SCALE) for vertex in part.shape.vertices] for part in body.fixtures
    ]
