"""Puts pictures on a canvas of constant size, with a caption below."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from td3core.exporters.film.lettering import Font, font

BACK = (24, 27, 33)
TEXT = (240, 242, 245)
_MARK = (240, 190, 60)
_STRIP_SHARE = 0.075
_LEAST_STRIP = 26
_LEAST_WIDTH = 240
"""Smaller pictures are enlarged so that the caption fits."""
_LEAST_FONT = 7
_MOST_FONT_SHARE = 0.56
"""Share of the strip's height."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """The texts of a caption."""

    left: str
    right: str
    mark: str = ""
    """Shown after the left text, in a different colour."""


class Canvas:
    """Fits pictures into frames of one size; the strip below them holds the caption.

    The strip covers no part of the picture, and is readable with any environment.
    """

    def __init__(
        self,
        picture: NDArray[np.uint8],
        size: tuple[int, int] | None = None,
        most_width: int | None = None,
    ) -> None:
        """Choose the sizes for a first picture (height, width, 3).

        Args:
            picture: Sets the size of the frames unless ``size`` does.
            size: Width and height of the frames, both even.
            most_width: Largest width of the frames, unless ``size`` is given; larger pictures are
                scaled down.
        """
        height, width = picture.shape[:2]
        if size is None:
            scale: float = max(1, -(-_LEAST_WIDTH // width))
            if most_width is not None:
                scale = min(scale, most_width / width)
            width, height = _even(round(width * scale)), _even(round(height * scale))
            strip = _strip_height(width, height)
            size = width, height + strip
        else:
            strip = _strip_height(*size)
        self._size = size
        self._room = size[0], size[1] - strip
        self._strip_height = strip
        self._drawn: tuple[Caption, Image.Image] | None = None

    def compose(self, picture: NDArray[np.uint8], caption: Caption) -> NDArray[np.uint8]:
        """Return a frame (height, width, 3) with a picture (any height, any width, 3)."""
        frame = Image.new("RGB", self._size, BACK)
        shown = _fitted(Image.fromarray(picture), self._room)
        frame.paste(
            shown, ((self._room[0] - shown.width) // 2, (self._room[1] - shown.height) // 2)
        )
        frame.paste(self._strip(caption), (0, self._room[1]))
        return np.asarray(frame)

    def _strip(self, caption: Caption) -> Image.Image:
        if self._drawn is None or self._drawn[0] != caption:
            self._drawn = caption, _drawn_strip(caption, self._size[0], self._strip_height)
        return self._drawn[1]


def _drawn_strip(caption: Caption, width: int, height: int) -> Image.Image:
    strip = Image.new("RGB", (width, height), BACK)
    draw = ImageDraw.Draw(strip)
    margin, middle = max(4, height // 4), height / 2
    chosen = _font_that_fits(caption, width - 2 * margin, height)
    draw.text((margin, middle), caption.left, TEXT, chosen, anchor="lm")
    if caption.mark:
        at = margin + chosen.getlength(f"{caption.left}  ")
        draw.text((at, middle), caption.mark, _MARK, chosen, anchor="lm")
    draw.text((width - margin, middle), caption.right, TEXT, chosen, anchor="rm")
    return strip


def _font_that_fits(caption: Caption, room: int, height: int) -> Font:
    # Two spaces before the mark, and at least three before the text on the right.
    text = f"{caption.left}  {caption.mark}   {caption.right}"
    size = max(_LEAST_FONT, round(height * _MOST_FONT_SHARE))
    chosen = font(size)
    while size > _LEAST_FONT and chosen.getlength(text) > room:
        size -= 1
        chosen = font(size)
    return chosen


def _fitted(picture: Image.Image, room: tuple[int, int]) -> Image.Image:
    scale = min(room[0] / picture.width, room[1] / picture.height)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture if size == picture.size else picture.resize(size, Image.Resampling.BILINEAR)


def _strip_height(width: int, height: int) -> int:
    return _even(max(_LEAST_STRIP, round(min(width, height) * _STRIP_SHARE)))


def _even(size: int) -> int:
    return max(2, size & ~1)
