"""Scales pictures to the size in which the window shows them, in the renderer's process."""

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""Shape (height, width, 3)."""


def fitted(picture: Picture, width: int, height: int) -> Picture:
    """Scale a picture smoothly to the largest size that fits, keeping its aspect ratio."""
    size = fitted_size(picture.shape[1], picture.shape[0], width, height)
    if size == (picture.shape[1], picture.shape[0]):
        return picture
    # Imported late: not every environment uses pygame.
    import pygame.image
    import pygame.surfarray
    import pygame.transform

    surface = pygame.image.frombuffer(picture.data, (picture.shape[1], picture.shape[0]), "RGB")
    scaled = pygame.transform.smoothscale(surface, size)
    return np.asarray(pygame.surfarray.pixels3d(scaled)).swapaxes(0, 1)


def fitted_size(width: int, height: int, most_wide: int, most_high: int) -> tuple[int, int]:
    """Return the largest size of the same aspect ratio, rounded as by ``QSize.scaled``."""
    wide = most_high * width // height
    if wide <= most_wide:
        return max(wide, 1), max(most_high, 1)
    return max(most_wide, 1), max(most_wide * height // width, 1)
