"""The current comparison: chosen runs, view options, and results."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.plots.compare.run_set import (
    CHOICES,
    CRITIC_LOSS,
    RETURN,
    ComparisonChoice,
    RunSet,
    ShownComparison,
    build,
    read_returns,
    read_training,
)
from studio.session.live_runs import LiveRuns
from studio.tasks.background_task import BackgroundTask, Report, Stopped
from td3core.analysis.comparison import curve_smoothing
from td3core.analysis.figure_data import FigureData, FigureLine, in_units, line_of, return_label
from td3core.analysis.groups import BY_RUN, BY_SETTINGS, group_runs
from td3core.analysis.measured import Measured
from td3core.analysis.results import Metric, RunResults
from td3core.exporters.registry import export_figure
from td3core.text import Text

MOST_DRAWN = 10
"""The runs of a group are initially drawn in addition to it if there are no more than this."""
REFRESH_MS = 3_000
"""Milliseconds between checks of the files of runs that other processes may be training."""
LIVE_MS = 1_000
"""Milliseconds between redraws for reports of runs that train from this window."""


class CompareSession(QObject):
    """Owns the comparison. Reads and computes in the background; widgets show :attr:`shown`."""

    opening = Signal()
    """The first runs have been read; ``opened`` follows."""
    opened = Signal()
    closed = Signal()
    shown_changed = Signal()
    busy_changed = Signal(bool)
    refused = Signal(object)
    exported = Signal(str)
    """The path of a written file."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view = ComparisonChoice()
        self.shown: ShownComparison | None = None
        """None without a comparison."""
        self.group = ""
        """Name of the group of seeds, or of the series of groups, whose runs are compared; empty
        for other runs."""
        self.series = False
        self.live = LiveRuns(self)
        """The runs that train from this window; updated by the code that trains them."""
        self._runs, self._paths = RunSet(), tuple[Path, ...]()
        self._accepted = self._paths, self.group, self.series
        """Runs, group and series on display; those being read may still be refused."""
        self._task = BackgroundTask("compare-runs", self)
        self._task.reported.connect(self._take)
        self._task.failed.connect(self._on_failed)
        self._task.finished.connect(self._on_finished)
        self._exporter = BackgroundTask("export-figure", self)
        self._exporter.failed.connect(self.refused)
        self._again = QTimer(self)
        self._again.setObjectName("compare_files_timer")
        self._again.setSingleShot(True)
        self._again.setInterval(REFRESH_MS)
        self._again.timeout.connect(self._read_again)
        self._reported = False
        """Whether there are reports still to be drawn."""
        self._pace = QTimer(self)
        self._pace.setObjectName("compare_live_timer")
        self._pace.setSingleShot(True)
        self._pace.setInterval(LIVE_MS)
        self._pace.timeout.connect(self._show_reported)
        self.live.changed.connect(self._on_reported)

    @property
    def active(self) -> bool:
        """True while a comparison is shown."""
        return self.shown is not None

    @property
    def busy(self) -> bool:
        """True while runs are being read or numbers computed."""
        return self._task.busy

    @Slot(object)
    def compare(
        self,
        paths: Sequence[Path],
        group: str = "",
        *,
        series: bool = False,
        names: Mapping[Path, str] | None = None,
    ) -> None:
        """Read runs and show them, in place of the current ones.

        Runs of a ``group`` are drawn individually in addition to their mean; runs of a ``series``
        of groups are not. More runs of either may be added. ``names``: names of groups, by the path
        of each of their runs.
        """
        self._call(names or {})
        self._paths, self.group = tuple(path.absolute() for path in paths), group
        self.series = series
        grouped = self.view.grouped or bool(group)
        single = self._drawn_alone(self._paths)
        self.view = replace(self.view, hidden=frozenset(), single=single, grouped=grouped)
        self._start()

    def extend(self, paths: Sequence[Path], names: Mapping[Path, str] | None = None) -> None:
        """Show these runs of the group: the current ones, and those started since."""
        paths = tuple(path.absolute() for path in paths)
        if paths != self._paths:
            self._call(names or {})
            added = self.view.single | (set(paths) - set(self._paths))
            self._paths = paths
            self.view = replace(self.view, single=added & self._drawn_alone(paths))
            self._start()

    def _call(self, names: Mapping[Path, str]) -> None:
        """Give groups these names, unless the user has renamed them."""
        given = {path.absolute(): name for path, name in names.items()}
        self.view = replace(self.view, names=given | dict(self.view.names))

    def _drawn_alone(self, paths: Sequence[Path]) -> frozenset[Path]:
        """Return the runs that are drawn in addition to their groups by default."""
        one = bool(self.group) and not self.series
        return frozenset(paths if one and len(paths) <= MOST_DRAWN else ())

    @Slot()
    def close(self) -> None:
        """Close the comparison and forget its runs."""
        self._task.cancel()
        self._again.stop()
        self._pace.stop()
        self._reported = False
        was_active, self.shown = self.active, None
        self._runs, self._paths, self.group = RunSet(), (), ""
        if was_active:
            self.closed.emit()

    def shutdown(self) -> None:
        """Stop reading; the window is about to close."""
        self.live.shutdown()
        self._again.stop()
        self._pace.stop()
        self._task.cancel()
        self._exporter.cancel()

    # View options ------------------------------------------------------------------------------

    def change(self, **values: Any) -> None:
        """Change fields of the :class:`ComparisonChoice`."""
        view = replace(self.view, **values)
        if view == self.view:
            return
        if view.grouped != self.view.grouped:
            view = replace(view, hidden=frozenset(), single=frozenset())
        self.view = view
        if self.active:
            self._start()

    def choose_metric(self, metric: Metric) -> None:
        """Compare evaluations or episodes, with the smoothing that suits them."""
        if metric != self.view.metric:
            self.change(metric=metric, smoothing=curve_smoothing(metric))

    def set_group_visible(self, name: str, visible: bool) -> None:
        """Show or hide a group in every plot."""
        hidden = self.view.hidden
        self.change(hidden=hidden - {name} if visible else hidden | {name})

    def set_run_visible(self, path: Path, visible: bool) -> None:
        """Draw one run of a group in addition to it, or not."""
        single = self.view.single
        self.change(single=single | {path} if visible else single - {path})

    def reported(self) -> list[Path]:
        """Return the runs of a report: those of every group that is drawn, or one of its runs."""
        assert self.shown is not None
        view = self.shown.view
        return [
            run.path
            for each in self.shown.comparison.groups
            for run in each.group.runs
            if each.name not in view.hidden
            or any(member.path in view.single for member in each.group.runs)
        ]

    def report_options(self) -> list[str]:
        """Return the options of ``td3-studio report`` for the runs in this view."""
        metric = self.shown.comparison.metric if self.shown is not None else self.view.metric
        grouped = BY_SETTINGS if self.view.grouped else BY_RUN
        options = ["--group-by", grouped, "--x", self.view.x, "--metric", metric]
        return options + self.name_options(self.reported())

    def name_options(self, paths: Sequence[Path]) -> list[str]:
        """Return the options for the names of the groups of these runs."""
        if self.shown is None:
            return []
        # A deleted run is in no report.
        there = set(paths) - set(self.shown.problems)
        runs, names = list[RunResults](), dict[Path, str]()
        for each in self.shown.comparison.groups:
            members = [run for run in each.group.runs if run.path in there]
            runs += members
            names |= dict.fromkeys((run.path for run in members), each.name)
        usual = group_runs(runs, (BY_SETTINGS if self.view.grouped else BY_RUN,))
        firsts = [(each.runs[0].path, each.name) for each in usual]
        return [
            word
            for path, name in firsts
            if names[path] != name
            for word in ("--rename", f"{path}={names[path]}")
        ]

    def rename_group(self, name: str, new: str) -> None:
        """Rename a group, here and in figures; an empty name restores the default."""
        assert self.shown is not None
        groups = {each.name: each.group for each in self.shown.comparison.groups}
        new = new.strip()
        if new != name and new in groups:
            self.refused.emit(Text("Another group is called {name}.", name=new))
            # Revert the typed name.
            self.shown_changed.emit()
            return
        names = dict(self.view.names)
        names[groups[name].runs[0].path] = new
        hidden = self.view.hidden
        if name in hidden:
            hidden = hidden - {name} | ({new} if new else set())
        self.change(names=names, hidden=hidden)

    # Exporting -----------------------------------------------------------------------------------

    def figure(self, plotted: str = RETURN) -> FigureData:
        """Return a plot as a figure for print."""
        assert self.shown is not None
        comparison = self.shown.comparison
        counts = {each.name: len(each.finals) for each in comparison.groups}
        lines: list[FigureLine] = []
        for line in self.shown.lines[plotted]:
            # A group with results whose runs share no step is named without a curve.
            if not len(line.curve.x) and not counts.get(line.label):
                continue
            count = f" (n = {counts[line.label]})" if line.label in counts else ""
            lines.append(line_of(line.label + count, line.place, line.curve))
        title = ", ".join(dict.fromkeys(each.group.env for each in comparison.groups))
        label = y_label(plotted, self.shown.view, comparison.metric)
        figure = FigureData(
            title=title,
            x_label="",
            y_label=label,
            lines=tuple(lines),
            logarithmic=plotted == CRITIC_LOSS,
        )
        return in_units(figure, self.shown.view.x)

    def export(self, plotted: str, path: Path) -> None:
        """Write a plot as .png, .svg, .pdf or .csv, in the background."""
        if self.shown is None:
            return
        figure = self.figure(plotted)

        def write(_stopped: Stopped) -> str:
            export_figure(figure, path)
            return str(path)

        self._exporter.read(write, self.exported.emit)

    # Work ----------------------------------------------------------------------------------------

    def _start(self, *, only_changes: bool = False) -> None:
        """Show the runs with the current options; read only new data."""
        self._again.stop()
        # The previous lines stay until there are new ones.
        known = self._runs if only_changes else None
        live = self._live_now()
        self._reported = False
        self._task.start(partial(_read, self._runs, known, self._paths, live, self.view))
        self.busy_changed.emit(True)

    def _live_now(self) -> dict[Path, Measured]:
        """Return the reports of compared runs that train from this window."""
        found = {path: self.live.measured(path) for path in self._paths}
        return {path: measured for path, measured in found.items() if measured is not None}

    @Slot(object)
    def _on_reported(self, path: Path) -> None:
        if self.active and path in self._paths:
            self._reported = True
            self._wait_to_show()

    def _wait_to_show(self) -> None:
        # A new reading would replace the one in progress.
        if self._reported and not self._pace.isActive() and not self.busy:
            self._pace.start()

    @Slot()
    def _show_reported(self) -> None:
        if self.active and not self.busy:
            self._start(only_changes=True)

    @Slot()
    def _read_again(self) -> None:
        if self.active:
            self._start(only_changes=True)

    @Slot(object)
    def _take(self, found: object) -> None:
        assert isinstance(found, tuple)
        was_active = self.active
        self._runs, self.shown = found
        assert self.shown is not None
        self.view = self.shown.view
        self._accepted = self._paths, self.group, self.series
        if not was_active:
            self.opening.emit()
            self.opened.emit()
        self.shown_changed.emit()

    @Slot(object)
    def _on_failed(self, problem: Text) -> None:
        """Revert to the comparison on display."""
        if self.shown is None:
            self._paths = ()
        else:
            self._paths, self.group, self.series = self._accepted
            self.view = self.shown.view
            self.shown_changed.emit()
        self.refused.emit(problem)

    @Slot()
    def _on_finished(self) -> None:
        self.busy_changed.emit(False)
        if self.active:
            self._wait_to_show()
            if any(run.measured is None for run in self._runs.runs):
                self._again.start()


def y_label(plotted: str, view: ComparisonChoice, metric: Metric) -> Text:
    """Return the name of a plot's y axis."""
    if plotted == RETURN:
        return return_label(metric)
    if plotted not in CHOICES:
        return Text("Actor loss")
    return CHOICES[plotted][view.column(plotted)]


def _read(
    found: RunSet,
    shown: RunSet | None,
    paths: Sequence[Path],
    live: Mapping[Path, Measured],
    view: ComparisonChoice,
    report: Report,
    stopped: Stopped,
) -> None:
    """Report the returns first: the user wants to see them most.

    Reports nothing if nothing differs from ``shown``.
    """
    fresh = read_returns(found, paths, live, stopped)
    if stopped():
        return
    if fresh is not shown:
        report((fresh, build(fresh, view)))
    complete = read_training(fresh, stopped)
    if complete is not fresh:
        report((complete, build(complete, view)))
