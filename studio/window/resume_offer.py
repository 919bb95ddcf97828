"""The Resume button, and the message about interrupted runs."""

from html import escape
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.window.parts import WindowParts
from td3core.protocol.events import Started
from td3core.runs.naming import with_env
from td3core.text import Text, tr

_SHOW = Text("Show all runs")
_LIST = "list"
"""Target of a link that only shows the list; all others choose an interrupted run."""


class ResumeOffer(QObject):
    """Offers to resume the current run, or without one the only run selected in the list."""

    runs_wanted = Signal()
    """The user wants to see the list of runs."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self._announced = ""
        """The message about interrupted runs."""
        launcher = parts.launcher
        launcher.beside.started.connect(self._announce_beside)
        launcher.continuing_with.connect(parts.live.apply)
        parts.controller.state_changed.connect(self._update)
        parts.model.run_opened.connect(self._update)
        parts.runs.view.choice_changed.connect(self._update)
        # Connected after the presenter, which renames the current run and notes its deletion.
        parts.runs.model.renamed.connect(self._update)
        parts.runs.run_actions.deleted.connect(self._update)
        parts.runs.interrupted_found.connect(self._announce_interrupted)
        parts.banner.link_activated.connect(self._follow_link)
        parts.toolbar.action("resume").triggered.connect(self._resume)
        self._update()

    def _resumable(self) -> tuple[Path, str] | None:
        """Return the run that can be resumed, and its name."""
        if self._parts.controller.busy or self._parts.controller.following:
            return None
        record, runs = self._parts.model.record, self._parts.runs
        if record.run is not None and not record.deleted:
            row = runs.model.rows.get(record.run)
            return None if row and row.curves_only else (record.run, record.title)
        rows = [row for row in runs.view.chosen() if row.summary and not row.curves_only]
        return (rows[0].path, rows[0].title) if len(rows) == 1 else None

    @Slot()
    def _update(self) -> None:
        found = self._resumable()
        self._parts.toolbar.offer_to_resume(found[1] if found else "")

    @Slot()
    def _resume(self) -> None:
        found = self._resumable()
        if found is not None:
            self._parts.launcher.resume(found[0])

    @Slot(int)
    def _announce_interrupted(self, count: int) -> None:
        banner = self._parts.banner
        if not count:
            if banner.text == self._announced:
                banner.hide()
            return
        text = Text.counted(
            "One run was interrupted and can be resumed.",
            "{n} runs were interrupted and can be resumed.",
            n=count,
        )
        self._announced = f'{text} <a href="runs">{_SHOW}</a>'
        banner.show_message("info", self._announced, rich=True)

    @Slot(str)
    def _follow_link(self, target: str) -> None:
        self.runs_wanted.emit()
        if target != _LIST:
            self._parts.runs.choose_interrupted()

    @Slot(object)
    def _announce_beside(self, event: Started) -> None:
        name = escape(with_env(event.config.env, event.name or event.run.name))
        text = tr("{run} is training in a separate process.", run=name)
        link = f'<a href="{_LIST}">{_SHOW}</a>'
        self._parts.banner.show_message("info", f"{text} {link}", rich=True)
        self._parts.runs.refresh_soon()
