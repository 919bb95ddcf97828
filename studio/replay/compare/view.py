"""The pictures of the compared agents, as large as fits."""

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QPushButton, QVBoxLayout, QWidget

from studio.replay.compare.tile import Tile
from studio.replay.renderer.protocol import Frame, Loaded
from studio.widgets.controls import describe, make_row
from studio.widgets.labels import ElidedLabel
from td3core.playing.compared import names_of
from td3core.playing.disturbance import PUSH_AT_S, PUSH_S, Variant
from td3core.text import Text, tr

_GAP = 6
_SETTLED_MS = 100
_PUSH_TIP = Text(
    "Push now, for {seconds:g} s (P). Repeated whenever this seed is played again; the first"
    " push comes after {first_s:g} s.",
    seconds=PUSH_S,
    first_s=PUSH_AT_S,
)


class AgentComparisonView(QWidget):
    """A heading, and a tile per agent."""

    tile_settled = Signal(QSize)
    """The size available for one picture, in pixels, once it has been stable for a moment."""

    tile_added = Signal(object)
    """A picture was added, a :class:`~studio.replay.frame_view.FrameView`."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        describe(self, "compare_agents_view", tr("Agents side by side"), "")
        self.tiles: list[Tile] = []
        self._columns = 0
        self._aspect = 1.5
        self._settling = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._settling.timeout.connect(self._emit_size)
        self.title = ElidedLabel()
        self.title.setObjectName("compare_agents_heading")
        self.title.setProperty("role", "muted")
        self.push_button = QPushButton(tr("Push"))
        describe(self.push_button, "compare_push_button", tr("Push"), str(_PUSH_TIP))
        self.change_button = QPushButton(tr("Change…"))
        describe(
            self.change_button, "compare_change_button", tr("Change"), tr("Compare other agents")
        )
        self.close_button = QPushButton(tr("Close"))
        tip = tr("Show the first agent alone again (Esc)")
        describe(self.close_button, "compare_agents_close_button", tr("Close comparison"), tip)
        heading = make_row(self.title, self.push_button, self.change_button, self.close_button)
        heading.setStretch(0, 1)
        self._grid = QGridLayout()
        self._grid.setSpacing(_GAP)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(heading)
        layout.addLayout(self._grid, 1)

    @property
    def columns(self) -> int:
        """Number of pictures in a row."""
        return self._columns

    def show_agents(self, loaded: Loaded) -> None:
        """Show a tile per agent."""
        while len(self.tiles) > len(loaded.agents):
            tile = self.tiles.pop()
            self._grid.removeWidget(tile)
            tile.deleteLater()
        while len(self.tiles) < len(loaded.agents):
            self.tiles.append(Tile(len(self.tiles) + 1))
            self.tile_added.emit(self.tiles[-1].view)
        for tile, facts, text in zip(
            self.tiles, loaded.agents, names_of(loaded.agents), strict=True
        ):
            tile.show_agent(facts, text)
            if loaded.no_picture:
                tile.view.show_text(loaded.no_picture)
        pushed = any(facts.agent.variant is Variant.PUSH for facts in loaded.agents)
        self.push_button.setVisible(pushed)
        self._arrange(again=True)

    def show_frame(self, frame: Frame) -> None:
        """Show the state of the agents."""
        if len(frame.steps) != len(self.tiles):
            return  # From previously compared agents.
        for tile, step in zip(self.tiles, frame.steps, strict=True):
            tile.show_step(step)
        reached = tr("step {step}", step=frame.step.number)
        episode = tr("episode {episode}", episode=frame.episode + 1)
        self.title.setText(f"{reached} · {episode}")
        if not frame.images:
            return
        for tile, image in zip(self.tiles, frame.images, strict=True):
            tile.view.show_image(image)
        aspect = frame.images[0].width() / frame.images[0].height()
        if abs(aspect - self._aspect) > 0.02:
            self._aspect = aspect
            self._arrange()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Arrange the tiles for the available space."""
        super().showEvent(event)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Arrange the tiles for the new size."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self, *, again: bool = False) -> None:
        """Choose the number of columns that makes the pictures largest."""
        if not self.tiles:
            return
        self._settling.start()
        header = max(self.fontMetrics().height() + 4, self.tiles[0].title.height())
        room = self.size() - QSize(0, self.close_button.height())
        columns = best_columns(len(self.tiles), room, self._aspect, header)
        if not self.isVisible():
            columns = 1  # Its size is not known yet.
        if columns == self._columns and not again:
            return
        self._columns = columns
        for at in range(len(self.tiles)):
            self._grid.setRowStretch(at, 0)
            self._grid.setColumnStretch(at, 0)
        for at, tile in enumerate(self.tiles):
            row, column = divmod(at, columns)
            self._grid.addWidget(tile, row, column)
            self._grid.setRowStretch(row, 1)
            self._grid.setColumnStretch(column, 1)

    def _emit_size(self) -> None:
        if not self.tiles:
            return
        ratio = self.devicePixelRatioF()
        width = min(tile.view.width() for tile in self.tiles)
        height = min(tile.view.height() for tile in self.tiles)
        self.tile_settled.emit(QSize(int(width * ratio), int(height * ratio)))


def best_columns(count: int, room: QSize, aspect: float, header: int) -> int:
    """Return the number of columns that makes pictures of this aspect ratio largest."""

    def picture_width(columns: int) -> float:
        rows = -(-count // columns)
        width = (room.width() - _GAP * (columns - 1)) / columns
        height = (room.height() - _GAP * (rows - 1)) / rows - header
        return min(width, height * aspect)

    return max(range(1, count + 1), key=picture_width)
