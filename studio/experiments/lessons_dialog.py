"""The lessons: their questions, what to look at, and a button that trains one."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QListWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import format_count, typographic
from studio.theme.sizes import scaled
from studio.widgets.controls import make_button, make_label
from studio.widgets.forms import resize_within_screen
from td3core.experiments.lessons import Lesson
from td3core.text import Text, tr

_SIZE = (860, 600)
_LIST_WIDTH = 230
_ARMS, _LOOK, _SEEN = Text("What is trained"), Text("What to look at"), Text("What we saw")
_ONE_SEED = Text(
    "A single seed proves nothing, and three say little. The bands are 95 % intervals over the"
    " seeds; where they overlap, these runs do not tell the variants apart. Yours may differ from"
    " ours: processors of another kind round differently."
)


class LessonsDialog(QDialog):
    """Shows the lessons one at a time; the window trains the requested one."""

    wanted = Signal(object)
    """Carries the :class:`~td3core.experiments.lessons.Lesson` to train."""

    def __init__(self, lessons: Sequence[Lesson], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lessons_dialog")
        self.setWindowTitle(tr("Lessons"))
        resize_within_screen(self, *_SIZE)
        self._lessons = tuple(lessons)
        self.list = QListWidget()
        self.list.setObjectName("lesson_list")
        self.list.setAccessibleName(tr("Lessons"))
        self.list.setFixedWidth(scaled(_LIST_WIDTH))
        self.list.setSpacing(3)
        self.list.addItems([str(lesson.title) for lesson in self._lessons])
        self.view = QTextBrowser()
        self.view.setObjectName("lesson_view")
        self.view.setAccessibleName(tr("The current lesson"))
        self.view.document().setDocumentMargin(12)
        self._cost = make_label("lesson_cost", muted=True)
        tip = tr("Train the runs of this lesson, and compare them as they learn")
        self.run = make_button("lesson_run_button", tr("Train this lesson"), tip)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self.run, QDialogButtonBox.ButtonRole.ActionRole)
        above, below = QHBoxLayout(), QHBoxLayout()
        above.addWidget(self.list)
        above.addWidget(self.view, 1)
        below.addWidget(self._cost, 1)
        below.addWidget(buttons)
        layout = QVBoxLayout(self)
        layout.addLayout(above, 1)
        layout.addLayout(below)
        # Only after it was added to the dialog: before, it would not become the default button.
        self.run.setDefault(True)
        buttons.rejected.connect(self.reject)
        self.list.currentRowChanged.connect(self._show)
        self.run.clicked.connect(self._ask_for_it)
        self.list.setCurrentRow(0)
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(int)
    def _show(self, row: int) -> None:
        lesson = self._lessons[row]
        self.view.setMarkdown(_page(lesson))
        runs = len(lesson.arms) * len(lesson.seeds)
        steps = format_count(lesson.steps // runs)
        cost = Text.counted(
            "{n} run of {steps} steps", "{n} runs of {steps} steps", n=runs, steps=steps
        )
        self._cost.setText(str(cost))

    @Slot()
    def _ask_for_it(self) -> None:
        self.accept()
        self.wanted.emit(self._lessons[self.list.currentRow()])


def _page(lesson: Lesson) -> str:
    """Return a lesson as Markdown."""
    seeds = Text.counted("{n} seed each", "{n} seeds each", n=len(lesson.seeds))
    arms = "\n".join(f"- {arm.title}" for arm in lesson.arms)
    parts = [f"## {lesson.title}", f"**{lesson.question}**", str(lesson.text)]
    parts += [f"### {_ARMS} ({seeds})", arms, f"### {_LOOK}", str(lesson.look)]
    if lesson.seen:
        parts += [f"### {_SEEN}", str(lesson.seen)]
    return typographic("\n\n".join([*parts, str(_ONE_SEED)]))
