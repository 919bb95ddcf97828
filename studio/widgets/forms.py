"""The building blocks of forms: rows, labels of settings, remarks."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import QDialog, QFormLayout, QLabel, QVBoxLayout, QWidget

from studio.theme.sizes import scaled
from studio.widgets.labels import breakable
from studio.widgets.number_box import NumberBox
from studio.widgets.setting_names import in_labels
from td3core.config.spec import Spec
from td3core.errors import RequestError

_SIDES = 16
_TITLE_BAR = 32
"""Height in pixels of the desktop's title bar."""


def make_dialog_column(dialog: QDialog, width: int = 0) -> QVBoxLayout:
    """Return the layout of a dialog, which is as wide as its parts need and at least ``width``.

    A minimum width on the dialog itself would let it be narrower than its parts.
    """
    column = QVBoxLayout(dialog)
    column.setContentsMargins(_SIDES, 14, _SIDES, 12)
    column.setSpacing(10)
    column.addStrut(max(scaled(width) - 2 * _SIDES, 0))
    return column


def grow_with_texts(dialog: QDialog, column: QVBoxLayout) -> None:
    """Make a dialog as tall as its wrapped texts need at its width, which is known once shown."""
    column.activate()
    width = max(dialog.width(), column.minimumSize().width())
    dialog.resize(width, max(dialog.height(), column.totalHeightForWidth(width)))


def room_on(screen: QScreen) -> QSize:
    """Return the size of the largest window that a screen has room for, with its frame."""
    return screen.availableGeometry().size() - QSize(0, _TITLE_BAR)


def resize_within_screen(dialog: QWidget, width: int, height: int) -> None:
    """Give a dialog a size that suits the font; no larger than its screen."""
    dialog.resize(QSize(scaled(width), scaled(height)).boundedTo(room_on(dialog.screen())))


def make_form() -> QFormLayout:
    """Return an empty form whose fields take all the available width."""
    form = QFormLayout()
    form.setContentsMargins(0, 0, 0, 0)
    form.setHorizontalSpacing(8)
    form.setVerticalSpacing(5)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return form


def setting_label(known: Spec, *, symbol: bool = False) -> QLabel:
    """Return a label with the name of a setting and its help as tooltip."""
    label = QLabel(
        f"{known.symbol}  {known.label}" if symbol and known.symbol else str(known.label)
    )
    label.setToolTip(str(known.help))
    return label


def keep_lines(label: QLabel, lines: int) -> None:
    """Reserve space for this many lines, so that widgets below never move."""
    label.ensurePolished()
    label.setMinimumHeight(lines * label.fontMetrics().lineSpacing())


def remark(text: str = "") -> QLabel:
    """Return a muted label for secondary text."""
    label = QLabel(text)
    label.setWordWrap(True)
    label.setProperty("role", "muted")
    return label


class ProblemLabel(QLabel):
    """Says below a form why an entry is refused; hidden until then."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setProperty("role", "problem")
        self.hide()

    def refuse(self, problem: RequestError) -> None:
        """Show the reason."""
        self.setText(breakable(in_labels(problem.message)))
        self.show()

    def accepts(self, form: QWidget) -> bool:
        """Return whether every number in a form is allowed; else say why not, and select it."""
        for box in form.findChildren(NumberBox):
            try:
                box.entered()
            except RequestError as problem:
                self.refuse(problem)
                box.setFocus()
                box.selectAll()
                return False
        return True
