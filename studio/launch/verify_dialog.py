"""Verifies in a separate process whether a run resumes exactly, and shows the verdict."""

import tempfile
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from studio.formatting import format_count
from studio.widgets.command_job import CommandJob
from studio.widgets.forms import grow_with_texts, make_dialog_column
from studio.widgets.labels import plain_label
from td3core.text import Text, tr

_ABOUT = Text(
    "A copy of the run is trained further twice: once without a break, once with an interruption"
    " half-way. The run resumes exactly if both end with the same weights, replay buffer and"
    " results, bit for bit."
)


class VerifyDialog(QDialog):
    """Waits for ``td3-studio verify``; closing the dialog ends it. The run is not touched."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = ""
        self.setObjectName("verify_dialog")
        self.setWindowTitle(tr("Does this run resume exactly?"))
        about = plain_label(str(_ABOUT))
        about.setProperty("role", "muted")
        self.job = CommandJob("verify", self)
        self.job.answered.connect(self._on_answered)
        self.job.ended.connect(self._on_ended)
        self.job.busy_changed.connect(self._on_busy)
        self.verdict = self.job.status
        self.verdict.setObjectName("verify_verdict")
        self.buttons = QDialogButtonBox()
        self.buttons.rejected.connect(self.reject)
        self._column = layout = make_dialog_column(self, 460)
        for part in (about, self.job):
            layout.addWidget(part)
        layout.addStretch(1)
        layout.addWidget(self.buttons)
        self._on_busy(True)
        self.finished.connect(self.cancel)

    @property
    def busy(self) -> bool:
        """True while the check runs."""
        return self.job.busy

    def check(self, run: Path, title: str = "") -> None:
        """Show the dialog and start verifying a run with this ``title``."""
        self._name = title or run.name
        self.setWindowTitle(tr("Does {run} resume exactly?", run=self._name))
        # A killed process leaves its copies behind; they are in this folder.
        folder = tempfile.mkdtemp(prefix="td3-studio-verify-")
        self.job.set_variables(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder))
        self.job.run(["verify", "--json", "--", str(run)], Path(folder))
        self.show()
        self.raise_()

    @Slot()
    def cancel(self) -> None:
        """End the check, if one is running."""
        self.job.cancel()

    def event(self, event: QEvent) -> bool:
        """Grow after a change of the layout: only then are the heights of wrapped texts known."""
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            grow_with_texts(self, self._column)
        return handled

    @Slot(object)
    def _on_answered(self, found: dict[str, Any]) -> None:
        self.job.show_status(in_words(self._name, found))

    @Slot(bool)
    def _on_ended(self, done: bool) -> None:
        self.job.discard()
        if not done:
            why = self.verdict.text()
            text = tr("{run} could not be verified. {why}", run=self._name, why=why)
            self.job.show_status(text)

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        kind = QDialogButtonBox.StandardButton
        wanted = kind.Cancel if busy else kind.Close
        self.buttons.setStandardButtons(wanted)
        # Enter does not end a check.
        self.buttons.button(wanted).setAutoDefault(not busy)


def in_words(name: str, found: dict[str, Any]) -> str:
    """Return the verdict of ``verify --json`` in words."""
    steps = {
        "first": format_count(found["from_step"]),
        "last": format_count(found["from_step"] + found["steps"]),
    }
    if found["exact"]:
        return tr(
            "Yes. {run} resumes exactly: both ways end with the same result"
            " (verified from step {first} to {last}).",
            run=name,
            **steps,
        )
    differences = "\n".join(f"•  {each}" for each in found["differences"])
    verdict = tr(
        "No. {run} does not resume exactly (verified from step {first} to {last}).",
        run=name,
        **steps,
    )
    return f"{verdict}\n{differences}"
