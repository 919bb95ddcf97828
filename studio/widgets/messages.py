"""Messages to the user: a banner for important ones, a log for all."""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from html import escape

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.theme.theme import Theme
from studio.widgets.controls import make_row, set_styled
from studio.widgets.labels import breakable
from studio.widgets.setting_names import in_labels
from td3core.text import Text, tr

_MARGIN = 8
"""Pixels around a banner."""


class Banner(QFrame):
    """A message that stays until it is closed or replaced."""

    link_activated = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self._details = ""
        self._message = ""
        self._lasting = self._at_top = False
        self._text = QLabel()
        self._text.setObjectName("banner_text")
        self._text.setWordWrap(True)
        # Long words must not widen the window.
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self._text.linkActivated.connect(self.link_activated)
        self._copy = QPushButton(tr("Copy details"))
        self._copy.setObjectName("banner_copy_button")
        self._action_button = QPushButton()
        self._action_button.setObjectName("banner_action_button")
        self._action_button.setAccessibleName(tr("Suggested action"))
        self._action_button.clicked.connect(self._run_action)
        self._action: Callable[[], object] | None = None
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._details))
        close = QToolButton()
        close.setText("✕")
        close.setObjectName("banner_close_button")
        close.setAccessibleName(tr("Close message"))
        close.clicked.connect(self.hide)
        # The text needs the whole width in a small window.
        message = make_row(self._text, close)
        message.setStretch(0, 1)
        buttons = make_row(self._action_button, self._copy)
        buttons.insertStretch(0, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 5, 5, 5)
        layout.addLayout(message)
        layout.addLayout(buttons)
        self.hide()

    def float_over(self, host: QWidget, *, at_top: bool = False) -> None:
        """Float over the lower or upper edge of a widget, so that a message moves nothing."""
        self._at_top = at_top
        shown, before = not self.isHidden(), self.parentWidget()
        if before is not None:
            before.removeEventFilter(self)
        self.setParent(host)
        self.setVisible(shown)
        host.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Stay at the edge."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        """Grow and shrink with the message."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Show):
            self._place()
        return super().event(event)

    def _place(self) -> None:
        host = self.parentWidget()
        if host is not None and not self.isWindow():
            room = host.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
            height = max(self.heightForWidth(room.width()), self.minimumSizeHint().height())
            top = room.top() if self._at_top else room.bottom() + 1 - height
            self.setGeometry(room.left(), top, room.width(), height)
            self.raise_()

    @property
    def text(self) -> str:
        """The displayed message."""
        return self._message

    def show_message(
        self,
        level: str,
        text: Text | str,
        details: str = "",
        action: tuple[str, Callable[[], object]] | None = None,
        *,
        rich: bool = False,
        lasting: bool = False,
    ) -> None:
        """Show a message.

        Args:
            level: ``error``, ``warning`` or ``info``.
            text: the message.
            details: text that a button copies to the clipboard.
            action: label of a further button, and the function it calls.
            rich: the text contains HTML. Never for text from the user or from files.
            lasting: keep an error even after a later request has succeeded.
        """
        self._lasting = lasting
        self._message = text = in_labels(text)
        kinds = Qt.TextFormat
        self._text.setTextFormat(kinds.RichText if rich else kinds.PlainText)
        self._text.setText(text if rich else breakable(text))
        self._action_button.setText(action[0] if action else "")
        self._action_button.setVisible(action is not None)
        self._action = action[1] if action else None
        self._details = f"{text}\n\n{details}"
        self._copy.setVisible(bool(details))
        set_styled(self, "level", level)
        self.show()

    @Slot()
    def clear_error(self) -> None:
        """Hide an error, unless it is lasting: the next request has succeeded."""
        if self.property("level") == "error" and not self._lasting:
            self.hide()

    @Slot(object)
    def withdraw(self, text: Text | str) -> None:
        """Hide this message if it is displayed: it no longer applies."""
        if self.text == in_labels(text):
            self.hide()

    @Slot()
    def _run_action(self) -> None:
        action = self._action
        self.hide()
        if action is not None:
            action()


def choose(
    parent: QWidget,
    name: str,
    title: str,
    text: str,
    ways: Mapping[str, str],
    *,
    question: str = "",
    no: str = "",
    default: str = "",
) -> str:
    """Ask in a dialog for one of several options; return its key, empty if cancelled.

    Args:
        parent: the window that the dialog belongs to.
        name: object name of the dialog; its buttons are ``<name>_<way>`` and ``<name>_cancel``.
        title: what it is about, in a few words.
        text: what would happen.
        ways: the options, each with the text of its button.
        question: the sentence above the text; by default, the title.
        no: text of the cancel button; by default, Cancel.
        default: the option that Enter chooses; by default, cancelling.
    """
    box = QMessageBox(parent)
    box.setObjectName(name)
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(title)
    # Names of runs must not be interpreted as markup.
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(question or tr("{title}.", title=title))
    box.setInformativeText(text)
    buttons = {way: box.addButton(ways[way], QMessageBox.ButtonRole.AcceptRole) for way in ways}
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    if no:
        cancel.setText(no)
    for way, button in {**buttons, "cancel": cancel}.items():
        button.setObjectName(f"{name}_{way}")
    box.setDefaultButton(buttons.get(default, cancel))
    box.exec()
    return next((way for way, button in buttons.items() if box.clickedButton() is button), "")


class Log(QPlainTextEdit):
    """All messages of the run and the window, with the time of day."""

    _LINES = 5000

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("log_view")
        self.setAccessibleName(tr("Log"))
        self.setReadOnly(True)
        self.setMaximumBlockCount(self._LINES)
        self._theme = theme
        self._entries: deque[tuple[datetime, str, Text | str]] = deque(maxlen=self._LINES)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme, also for the displayed lines."""
        if theme == self._theme:
            return
        self._theme = theme
        self.clear()
        for entry in self._entries:
            self._show(*entry)

    @Slot(str, object)
    def add(self, level: str, text: Text | str) -> None:
        """Add one line."""
        self._entries.append((datetime.now(), level, text))
        self._show(*self._entries[-1])

    def _show(self, at: datetime, level: str, text: Text | str) -> None:
        theme = self._theme
        colour = {"error": theme.bad, "warning": theme.warn, "change": theme.marker}.get(level)
        time = f'<span style="color:{theme.muted}">{at:%H:%M:%S}</span>'
        body = escape(in_labels(text)).replace("\n", "<br>")
        if colour:
            body = f'<span style="color:{colour}">{body}</span>'
        self.appendHtml(f"{time}&nbsp; {body}")
