"""Scales pictures to the size they are shown in, where that takes no time from the training."""

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""Shape (height, width, 3)."""


def fitted(picture: Picture, width: int, height: int) -> Picture:
    """Return the picture as large as it fits into so many pixels, smoothly scaled."""
    size = fitted_size(picture.shape[1], picture.shape[0], width, height)
    if size == (picture.shape[1], picture.shape[0]):
        return picture
    # Only now: not every environment draws by it.
    import pygame.image
    import pygame.surfarray
    import pygame.transform

    surface = pygame.image.frombuffer(picture.data, (picture.shape[1], picture.shape[0]), "RGB")
    scaled = pygame.transform.smoothscale(surface, size)
    return np.asarray(pygame.surfarray.pixels3d(scaled)).swapaxes(0, 1)


def fitted_size(width: int, height: int, most_wide: int, most_high: int) -> tuple[int, int]:
    """Return width and height in the same proportion, as ``QSize.scaled`` rounds them."""
    wide = most_high * width // height
    if wide <= most_wide:
        return max(wide, 1), max(most_high, 1)
    return max(most_wide, 1), max(most_wide * height // width, 1)
