"""The dialog that writes a report about runs, a group, a comparison or a sweep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import (
    QGridLayout,
    QLineEdit,
    QWidget,
)

from studio.share.task_dialog import TaskDialog
from studio.widgets.controls import describe
from td3core.exporters.film.files import partial_path
from td3core.exporters.registry import REPORT_EXPORTERS
from td3core.text import Text, tr

_WIDTH = 300
_PARTS = (
    ("learning", Text("Losses and Q values"), Text("Training metrics")),
    ("bias", Text("Bias of the critics"), Text("How far evaluations found them to overestimate")),
    ("health", Text("Health of the networks"), Text("Dormant units, rank, saturated actions")),
    ("journal", Text("Live changes"), Text("The journal of each run")),
    ("settings", Text("All settings"), Text("Folded away below those that differ")),
    (
        "machine",
        Text("Machine and versions"),
        Text("What results depend on besides settings"),
    ),
    ("commands", Text("Commands"), Text("Commands that reproduce the runs")),
)
_FILTERS = (
    (Text("Web page ({pattern})", pattern="*.html"), ".html"),
    (Text("PDF ({pattern})", pattern="*.pdf"), ".pdf"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSubject:
    """Subject of a report."""

    name: str
    """Its name in the dialog, also proposed as file name."""
    sources: Sequence[str]
    """Arguments of the command: folders of runs, or the name of a sweep."""
    options: Sequence[str] = ()
    """How the runs are compared, or the folder of the sweep."""
    gone: int = 0
    """Number of deleted runs, which are left out."""


class ReportDialog(TaskDialog):
    """Runs ``td3-studio report``."""

    def __init__(
        self,
        subject: ReportSubject,
        allow: Callable[[Callable[[], object]], object],
        parent: QWidget,
    ) -> None:
        """Offer the parts of a report.

        Args:
            subject: The subject of the report.
            allow: Calls its argument once the code of the environments may run, for films.
            parent: The window.
        """
        about = tr("Writes {what} as one page to send or to print.", what=subject.name)
        if subject.gone:
            left_out = Text.counted(
                "{n} deleted run is left out.", "{n} deleted runs are left out.", n=subject.gone
            )
            about = f"{about} {left_out}"
        super().__init__("report", tr("Report"), about, tr("Write…"), parent)
        self.subject, self._allow = subject, allow
        tip = tr("Empty for one that says what is compared")
        self.title_edit = self._add_line("title", tr("Title"), tip)
        tip = tr("What the runs were to answer; may be empty")
        self.question_edit = self._add_line("question", tr("Question"), tip)
        self.parts = {
            name: self.make_choice(name, str(text), str(tip)) for name, text, tip in _PARTS
        }
        for box in self.parts.values():
            box.setChecked(True)
        tip = tr("An episode of the best agents; only in the web page")
        self.film = self.make_choice("film", tr("Films of the agents"), tip)
        grid = QGridLayout()
        for place, box in enumerate((*self.parts.values(), self.film)):
            grid.addWidget(box, place // 2, place % 2)
        self.form.addRow(tr("Contents"), grid)
        self.add_file_buttons(tr("Open report"))
        self.title_edit.setFocus()

    def _add_line(self, name: str, label: str, tip: str) -> QLineEdit:
        line = QLineEdit()
        describe(line, f"report_{name}_edit", label, tip)
        line.setPlaceholderText(tip)
        line.setMinimumWidth(_WIDTH)
        self.form.addRow(label, line)
        return line

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        kinds = {str(text): (suffix,) for text, suffix in _FILTERS}
        first = f"{self.subject.name}{_FILTERS[0][1]}".replace("/", "-")
        target = self.ask_target(tr("Write report"), first, kinds)
        if target is None:
            return None
        left_out = ",".join(name for name, box in self.parts.items() if not box.isChecked())
        film = self.film.isChecked() and target.suffix.lower() == REPORT_EXPORTERS[0].suffixes[0]
        options = [
            *("--out", str(target)),
            *(word for word in self._texts()),
            *(("--without", left_out) if left_out else ()),
            *(("--film",) if film else ()),
            *self.subject.options,
        ]
        words = ["report", *options, "--force", "--json", "--", *self.subject.sources]
        return words, partial_path(target)

    def _texts(self) -> list[str]:
        texts = (("--title", self.title_edit.text()), ("--question", self.question_edit.text()))
        return [word for option, text in texts if text.strip() for word in (option, text.strip())]

    @Slot()
    def _on_start(self) -> None:
        if self.film.isChecked():
            # Films run the environments, whose code may be untrusted.
            self._allow(self.while_open(super()._on_start))
        else:
            super()._on_start()

    def show_answer(self, found: dict[str, Any]) -> None:
        """Show the file written."""
        about = str(Text.counted("{n} run", "{n} runs", n=len(found["runs"])))
        size = tr("{size:.1f} MB", size=found["bytes"] / 1e6)
        self.show_written(f"{about}, {size}")
