"""Explanation of a plot, opened by its title: meaning, healthy course, usual trouble."""

from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from studio.theme.sizes import scaled
from studio.widgets.labels import plain_label
from td3core.text import Text

_WIDTH = 380
_HEADS = (Text("What it shows"), Text("Healthy"), Text("What goes wrong"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A plot explained in three sentences."""

    shows: Text
    healthy: Text
    """As in runs of the presets."""
    wrong: Text
    """The usual trouble, and what to check then."""
    column: str = ""
    """Quantity in the picture of a healthy run; empty for no picture."""


class ExplanationPopup(QFrame):
    """Three sentences below a title; a click elsewhere or Esc closes it."""

    def __init__(
        self,
        name: str,
        title: str,
        about: Explanation,
        parent: QWidget,
        picture: QWidget | None = None,
        caption: str = "",
    ) -> None:
        """``picture``: a healthy course, with its ``caption``."""
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName(f"{name}_explanation")
        self.setProperty("role", "card")
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(2)
        self.sentences: list[QLabel] = []
        parts = (about.shows, about.healthy, about.wrong)
        for head, text in zip(_HEADS, parts, strict=True):
            heading, sentence = QLabel(str(head)), plain_label(str(text))
            heading.setProperty("role", "muted")
            heading.setContentsMargins(0, 4, 0, 0)
            self.sentences.append(sentence)
            layout.addWidget(heading)
            layout.addWidget(sentence)
            if text is about.healthy and picture is not None:
                below = plain_label(caption)
                below.setProperty("role", "caption")
                layout.addSpacing(4)
                layout.addWidget(picture)
                layout.addWidget(below)
        self.setAccessibleDescription("\n".join(map(str, parts)))

    def open_below(self, title: QWidget) -> None:
        """Show the popup below a title, moved as needed to stay on the screen."""
        width, layout = scaled(_WIDTH), self.layout()
        assert layout is not None
        for label in self.findChildren(QLabel):
            # The height depends on the font, which the style sheet sets.
            label.ensurePolished()
        layout.invalidate()
        self.setFixedSize(width, layout.totalHeightForWidth(width))
        screen = title.screen().availableGeometry()
        at = title.mapToGlobal(QPoint(0, title.height() + 2))
        at.setX(max(screen.left(), min(at.x(), screen.right() - self.width())))
        at.setY(max(screen.top(), min(at.y(), screen.bottom() - self.height())))
        self.move(at)
        self.show()
