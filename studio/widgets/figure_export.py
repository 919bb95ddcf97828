"""Writes a plot as a picture with a caption, and offers the kinds of files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView, QMenu, QToolButton, QWidget

from studio.theme.sizes import scale, scaled, sized_font
from studio.theme.theme import Theme
from studio.widgets.file_question import ask_for_file
from td3core.errors import unwritable
from td3core.system.files import write_atomically
from td3core.text import Text, tr

KINDS = ("png", "svg", "csv")

_PRINT_SCALE = 2
"""Pixels of a picture per pixel on screen."""
_CAPTION = 46
"""Height of title and legend in a picture, with the usual font."""
_MARGIN = 10
_PICTURE = QSize(640, 360)
"""Smallest size of an exported plot, without its caption."""


class LegendEntry(Protocol):
    """One entry of the legend of a picture."""

    @property
    def text(self) -> str:
        """Text of the entry."""

    @property
    def colour(self) -> str:
        """Name of a colour of the theme, or #rrggbb; empty for an entry without a mark."""

    @property
    def mark(self) -> str:
        """The mark in that colour."""

    @property
    def hidden(self) -> bool:
        """Whether the entry is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureHeading:
    """The heading of a picture, above the plot."""

    title: str
    """For instance quantity, environment and run."""
    legend: Sequence[LegendEntry]
    theme: Theme


@contextmanager
def large_enough(view: QWidget) -> Iterator[None]:
    """Enlarge a small plot while its picture is written, so that names and numbers fit."""
    size = view.size()
    view.resize(size.expandedTo(_PICTURE * scale()))
    try:
        yield
    finally:
        view.resize(size)


def write_picture(plot: QGraphicsView, path: Path, caption: FigureHeading) -> None:
    """Write a plot, as on screen and with a caption, as .png or .svg.

    Raises:
        OSError: the file cannot be written.
    """
    # To memory first: Qt's writers report no error for a file that cannot be written, and a failure
    # half-way must not damage an earlier picture.
    data = QBuffer()
    data.open(QIODevice.OpenModeFlag.WriteOnly)
    above = scaled(_CAPTION)
    size = plot.size() + QSize(0, above)
    target: QSvgGenerator | QImage
    if path.suffix.lower() == ".svg":
        target = drawing = QSvgGenerator()
        drawing.setOutputDevice(data)
        drawing.setSize(size)
        drawing.setViewBox(QRect(QPoint(), size))
        drawing.setTitle(caption.title)
    else:
        target = image = QImage(size * _PRINT_SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(_PRINT_SCALE)
    painter = QPainter(target)
    try:
        painter.fillRect(QRect(QPoint(), size), QColor(caption.theme.panel))
        _draw_caption(painter, caption, size.width())
        plot.render(painter, QRectF(0, above, plot.width(), plot.height()))
    finally:
        # Qt aborts the program if the paint device is destroyed before the painter.
        painter.end()
    kind = QByteArray(path.suffix.removeprefix(".").encode())
    if isinstance(target, QImage) and not QImageWriter(data, kind).write(target):
        raise OSError(0, tr("the picture could not be written"))
    write_atomically(path, bytes(data.data().data()))


def _draw_caption(painter: QPainter, caption: FigureHeading, width: int) -> None:
    """Draw the title, and the legend in the colours of the curves below it."""
    theme, room = caption.theme, width - 2 * _MARGIN
    font = sized_font(13)
    font.setBold(True)
    painter.setFont(font)
    painter.setPen(QColor(theme.text))
    mode = Qt.TextElideMode.ElideRight
    painter.drawText(_MARGIN, scaled(18), QFontMetrics(font).elidedText(caption.title, mode, room))
    font = sized_font(11)
    painter.setFont(font)
    left, below, metrics = _MARGIN, scaled(36), QFontMetrics(font)
    for entry in caption.legend:
        if entry.hidden:
            continue
        mark = f"{entry.mark} " if entry.colour else ""
        colour = entry.colour or "muted"
        painter.setPen(QColor(colour if colour[0] == "#" else getattr(theme, colour)))
        painter.drawText(left, below, mark)
        left += metrics.horizontalAdvance(mark)
        painter.setPen(QColor(theme.muted))
        painter.drawText(left, below, entry.text)
        left += metrics.horizontalAdvance(entry.text) + 2 * _MARGIN


def choose_file(
    parent: QWidget, title: str, name: str, kind: str, refuse: Callable[[Text], object]
) -> Path | None:
    """Ask for a file of one kind (see :func:`~studio.widgets.file_question.ask_for_file`).

    ``name`` is the proposed name without its suffix, ``kind`` the suffix without its dot.
    """
    return ask_for_file(parent, title, f"{name}.{kind}", {f"*.{kind}": (f".{kind}",)}, refuse)


def export_figure(
    path: Path,
    picture: Callable[[Path], object],
    table: Callable[[Path], object],
    refuse: Callable[[Text], object],
) -> bool:
    """Write a file as a table if it is a .csv, else as a picture; return whether that succeeded.

    Args:
        path: the file.
        picture: writes the picture; may raise OSError, as may ``table``.
        table: writes the table.
        refuse: called with the reason of a failure.
    """
    try:
        (table if path.suffix.lower() == ".csv" else picture)(path)
    except OSError as problem:
        refuse(unwritable(path, problem).message)
        return False
    return True


def fill_export_menu(
    menu: QMenu, export: Callable[[str], object], kinds: Sequence[str] = KINDS
) -> None:
    """Offer every kind of file; ``export`` is called with the chosen kind."""
    for kind in kinds:
        text = tr("Export {format}…", format=kind.upper())
        action = menu.addAction(text, partial(export, kind))
        action.setObjectName(f"export_{kind}")


def make_export_button(name: str, what: str, export: Callable[[str], object]) -> QToolButton:
    """Return a button that offers every kind of file.

    Args:
        name: its object name.
        what: the exported object, such as ``histogram``, in the current language.
        export: called with the chosen kind.
    """
    button = QToolButton()
    button.setObjectName(name)
    button.setText(tr("Export"))
    button.setAccessibleName(tr("Export {what}", what=what))
    button.setToolTip(tr("Export the {what} as PNG, SVG or CSV", what=what))
    menu = QMenu(button)
    fill_export_menu(menu, export)
    button.setMenu(menu)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    return button
