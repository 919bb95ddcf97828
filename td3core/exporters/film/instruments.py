"""Draws the numbers of an episode below its pictures: reward, value, actions, observations."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from td3core.arrays import Doubles
from td3core.exporters.film.caption import BACK, TEXT
from td3core.exporters.film.lettering import font, return_text
from td3core.playing.numbers import SATURATED, EpisodeNumbers
from td3core.text import tr

_CARD, _GRID, _MUTED = (32, 36, 44), (62, 68, 80), (160, 168, 180)
_BLUE, _AMBER, _GREEN, _RED = (95, 160, 255), (240, 190, 60), (110, 200, 130), (235, 105, 95)
_LINES = (_BLUE, _AMBER, _GREEN, _RED, (190, 140, 240), (120, 210, 220))
_LEAST_WIDTH, _SHARE = 560, 0.42
_MOST_LINES = 6
"""With more lines, a heat map is drawn instead, one row each."""
_FINER = 3
"""Supersampling factor of the curves: Pillow draws lines without antialiasing."""

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]


class _Line(NamedTuple):
    name: str
    values: Doubles
    colour: Colour


class _Chart(NamedTuple):
    """A chart whose curves are already drawn; a frame adds only the step marker and texts."""

    title: str
    lines: Sequence[_Line]
    box: Box
    """Box of the curves: left, top, right, bottom."""


class InstrumentCanvas:
    """Puts the numbers of an episode below the picture of each step."""

    def __init__(self, picture: NDArray[np.uint8], numbers: EpisodeNumbers) -> None:
        """Draw everything that stays the same during the episode.

        Args:
            picture: A picture of the episode, (height, width, 3); small ones are enlarged.
            numbers: The whole episode.
        """
        self._numbers = numbers
        height, width = picture.shape[:2]
        scale = max(1.0, _LEAST_WIDTH / width)
        self._picture_size = round(width * scale) & ~1, round(height * scale) & ~1
        self._size = self._picture_size[0], round(self._picture_size[0] * _SHARE) & ~1
        self._font = font(max(9, round(self._size[0] / 62)))
        self._line_height: int = round(self._size[0] / 62 * 1.5)
        self._base = Image.new("RGB", self._size, BACK)
        self._charts = [self._draw_chart(*each) for each in self._contents()]
        self._actions = self._draw_card(3)

    def compose(self, picture: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
        """Return a frame for a step, counted from 1."""
        shown = Image.fromarray(picture)
        if shown.size != self._picture_size:
            shown = shown.resize(self._picture_size, Image.Resampling.BILINEAR)
        frame = Image.new("RGB", (self._size[0], self._picture_size[1] + self._size[1]))
        frame.paste(shown, (0, 0))
        frame.paste(self._panel(step - 1), (0, self._picture_size[1]))
        return np.asarray(frame)

    # Fixed parts --------------------------------------------------------------------------------

    def _contents(self) -> list[tuple[int, str, Sequence[_Line]]]:
        numbers, obtained = self._numbers, self._numbers.discounted
        assert obtained is not None
        value = [_Line(tr("obtained"), obtained, _BLUE)]
        if numbers.spec.critics:
            value.insert(0, _Line(tr("min Q"), numbers.min_q, _AMBER))
        seen = [
            _Line("", column, _LINES[at % len(_LINES)])
            for at, column in enumerate(numbers.obs.astype(np.float64).T)
        ]
        return [
            (0, tr("Return"), [_Line("", numbers.total, _BLUE)]),
            (1, tr("Value") if numbers.spec.critics else tr("Value (no critic)"), value),
            (2, tr("Observations"), seen),
        ]

    def _draw_card(self, place: int) -> Box:
        """Draw the background of one of four cards, two in a row; return the space inside it."""
        gap = max(4, self._size[0] // 140)
        width, height = (self._size[0] - 3 * gap) // 2, (self._size[1] - 3 * gap) // 2
        left = gap + place % 2 * (width + gap)
        top = gap + place // 2 * (height + gap)
        draw = ImageDraw.Draw(self._base)
        draw.rounded_rectangle((left, top, left + width, top + height), gap, _CARD)
        head = top + self._line_height + gap
        return left + gap, head, left + width - gap, top + height - gap

    def _draw_chart(self, place: int, title: str, lines: Sequence[_Line]) -> _Chart:
        box = self._draw_card(place)
        left, top, right, bottom = box
        size = (right - left) * _FINER, (bottom - top) * _FINER
        if len(lines) > _MOST_LINES:
            rows = _heat([line.values for line in lines])
            self._base.paste(
                rows.resize((right - left, bottom - top), Image.Resampling.BOX), box[:2]
            )
            return _Chart(tr("{title}, one row each", title=title), lines, box)
        fine = Image.new("RGB", size, _CARD)
        draw = ImageDraw.Draw(fine)
        low, high = _range_of(lines)
        if low < 0 < high:
            zero = (high / (high - low)) * (size[1] - 1)
            draw.line((0, zero, size[0], zero), _GRID, _FINER)
        for line in lines:
            x = np.linspace(0, size[0] - 1, len(line.values))
            y = (high - line.values) / (high - low) * (size[1] - 1)
            draw.line(list(zip(x.tolist(), y.tolist(), strict=True)), line.colour, _FINER)
        self._base.paste(fine.resize((right - left, bottom - top), Image.Resampling.BOX), box[:2])
        return _Chart(title, lines, box)

    # Changing parts -----------------------------------------------------------------------------

    def _panel(self, row: int) -> Image.Image:
        panel = self._base.copy()
        draw = ImageDraw.Draw(panel)
        for chart in self._charts:
            self._draw_place(draw, chart, row)
        self._draw_actions(draw, row)
        return panel

    def _draw_place(self, draw: ImageDraw.ImageDraw, chart: _Chart, row: int) -> None:
        left, top, right, bottom = chart.box
        last = max(len(self._numbers.total) - 1, 1)
        x = left + row / last * (right - left - 1)
        draw.line((x, top, x, bottom), TEXT, 1)
        self._draw_heading(draw, chart.box, chart.title)
        at = float(right)
        for line in reversed(chart.lines if len(chart.lines) <= 2 else ()):
            text = f"{line.name} {return_text(line.values[row])}".strip()
            draw.text((at, self._head(top)), text, line.colour, self._font, anchor="rt")
            at -= self._font.getlength(f"{text}   ")

    def _draw_actions(self, draw: ImageDraw.ImageDraw, row: int) -> None:
        left, top, right, bottom = self._actions
        self._draw_heading(draw, self._actions, tr("Actions"))
        action = self._numbers.action[row]
        pitch, centre = (bottom - top) / len(action), (left + right) / 2
        thick = max(1.0, min(pitch * 0.6, self._line_height))
        for at, value in enumerate(action.tolist()):
            middle = top + (at + 0.5) * pitch
            upper, lower = middle - thick / 2, middle + thick / 2
            draw.rectangle((left, upper, right, lower), outline=_GRID)
            end = centre + value * (right - left) / 2
            colour = _RED if abs(value) >= SATURATED else _BLUE
            draw.rectangle((min(centre, end), upper, max(centre, end), lower), colour)
        draw.line((centre, top, centre, bottom), _MUTED, 1)

    def _draw_heading(self, draw: ImageDraw.ImageDraw, box: Box, title: str) -> None:
        draw.text((box[0], self._head(box[1])), title, _MUTED, self._font, anchor="lt")

    def _head(self, top: int) -> int:
        return top - self._line_height


def _range_of(lines: Sequence[_Line]) -> tuple[float, float]:
    """Return the smallest and largest value, widened if they are equal."""
    low = min(float(line.values.min()) for line in lines)
    high = max(float(line.values.max()) for line in lines)
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _heat(rows: Sequence[Doubles]) -> Image.Image:
    """Return a heat map, a row per series: blue above 0, amber below, scaled by its maximum."""
    values = np.stack(rows)
    largest = np.abs(values).max(axis=1, keepdims=True)
    share = (values / np.where(largest > 0, largest, 1.0))[..., None]
    colour = np.where(share > 0, np.array(_BLUE), np.array(_AMBER))
    mixed = np.array(_CARD) + np.abs(share) * (colour - np.array(_CARD))
    return Image.fromarray(mixed.astype(np.uint8))
