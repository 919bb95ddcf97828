"""The dialog that writes an agent in one of the formats of the exporter registry."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QComboBox, QWidget

from studio.share.task_dialog import TaskDialog
from studio.widgets.controls import describe
from studio.widgets.labels import plain_label
from td3core.exporters.film.files import partial_path
from td3core.exporters.registry import EXPORTERS
from td3core.text import tr


class ExportDialog(TaskDialog):
    """Runs ``td3-studio export``."""

    def __init__(self, agent: Path, parent: QWidget) -> None:
        about = tr("Writes {agent} in a format that other programs read.", agent=agent.name)
        super().__init__("export", tr("Export actor"), about, tr("Export…"), parent)
        self._agent = agent
        self.formats = QComboBox()
        describe(self.formats, "export_format_combo", tr("Format"), tr("What to write"))
        for exporter in EXPORTERS:
            suffixes = ", ".join(exporter.suffixes)
            self.formats.addItem(f"{exporter.title} ({suffixes})")
        self.explanation = plain_label()
        self.explanation.setObjectName("export_explanation")
        self.add_file_buttons()
        self.form.addRow(tr("Format"), self.formats)
        self.form.addRow(self.explanation)
        self.formats.currentIndexChanged.connect(self._explain)
        self._explain()
        self.formats.setFocus()

    @Slot()
    def _explain(self) -> None:
        self.explanation.setText(str(EXPORTERS[self.formats.currentIndex()].about))

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        exporter = EXPORTERS[self.formats.currentIndex()]
        patterns = " ".join(f"*{suffix}" for suffix in exporter.suffixes)
        first = f"{self._agent.stem}_{exporter.name}{exporter.suffixes[0]}"
        kind = f"{exporter.title} ({patterns})"
        target = self.ask_target(tr("Export actor"), first, {kind: exporter.suffixes})
        if target is None:
            return None
        options = ["--to", str(target), "--format", exporter.name, "--force", "--json"]
        unfinished = partial_path(target) if exporter.makes_env else None
        return ["export", *options, "--", str(self._agent)], unfinished

    def show_answer(self, found: dict[str, Any]) -> None:
        """Show the file written."""
        self.show_written(found.get("note", found["format"]))
