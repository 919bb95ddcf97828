"""The sections about a sweep: results of its trials, and importance of settings."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from td3core.analysis.figure_data import FigureData, FigureLine
from td3core.config.value_text import format_duration, format_share, plain_return, typographic
from td3core.exporters.report.document import (
    Block,
    Cell,
    Column,
    Commands,
    DataTable,
    Folded,
    Paragraph,
    Plot,
    Plots,
    Section,
)
from td3core.exporters.report.figures import WIDE_IN
from td3core.exporters.report.wording import labels, value_text
from td3core.protocol.importance import about_importance
from td3core.protocol.trial_status import TrialStatus, names_of_states
from td3core.text import Text, tr

_MOST_TRIALS, _MOST_SETTINGS = 10, 8
"""Maximum number of trials and settings in the table of the best trials."""
_LONGEST_FILE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFacts:
    """One trial."""

    number: int
    state: TrialStatus
    value: float | None
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFacts:
    """Facts about a sweep for a report."""

    name: str
    objective: str
    wanted: int
    seconds: float
    running: bool
    trials: tuple[TrialFacts, ...]
    searched: tuple[str, ...]
    """Names of the settings that were searched."""
    importance: Mapping[str, float] = field(default_factory=dict)
    text: str = ""
    """The text of its file."""

    def best(self) -> list[TrialFacts]:
        """Return the completed trials that have a value, the best first."""
        done = [t for t in self.trials if t.state is TrialStatus.DONE and t.value is not None]
        return sorted(done, key=lambda trial: -(trial.value or 0.0))


def section_of(sweep: SweepFacts) -> Section:
    """Return the section about a sweep."""
    blocks: list[Block] = [Paragraph(text=_summary(sweep))]
    plot = _values(sweep)
    if plot is not None:
        blocks.append(Plots(plots=(plot,)))
    if sweep.best():
        blocks.append(_table(sweep))
    if sweep.importance:
        blocks.append(_importance(sweep))
    if sweep.text:
        text = Commands(text=sweep.text[:_LONGEST_FILE])
        blocks.append(Folded(title=tr("Show the file of the sweep"), blocks=(text,)))
    return Section(name="sweep", title=tr("The search"), blocks=tuple(blocks))


def _summary(sweep: SweepFacts) -> str:
    names = names_of_states(running=sweep.running)
    counts = {state: sum(t.state is state for t in sweep.trials) for state in names}
    told = ", ".join(f"{count} {names[state]}" for state, count in counts.items() if count)
    text = Text.counted(
        "{begun} of {n} trial in {duration}: {states}. Objective: {objective}.",
        "{begun} of {n} trials in {duration}: {states}. Objective: {objective}.",
        n=sweep.wanted,
        begun=len(sweep.trials),
        duration=format_duration(sweep.seconds),
        states=told or tr("none yet"),
        objective=sweep.objective,
    )
    more = Text("It was still going on when this was written.")
    return str(Text.joined([text, more]) if sweep.running else text)


def _values(sweep: SweepFacts) -> Plot | None:
    known = [
        (trial.number, trial.value)
        for trial in sweep.trials
        if trial.state is TrialStatus.DONE
        and trial.value is not None
        and math.isfinite(trial.value)
    ]
    if not known:
        return None
    numbers, values = np.array(sorted(known), dtype=np.float64).T
    lines = (
        FigureLine(label=tr("Trials"), place=0, x=numbers, y=values, points=True),
        FigureLine(label=tr("Best so far"), place=1, x=numbers, y=np.maximum.accumulate(values)),
    )
    figure = FigureData(
        title="",
        x_label=tr("Trial"),
        y_label=tr("Value"),
        lines=lines,
        width_in=WIDE_IN[0],
        height_in=2.6,
    )
    return Plot(title="", figure=figure)


def _table(sweep: SweepFacts) -> DataTable:
    called, names = labels(), _most_important(sweep)
    columns = (
        Column(title=tr("Trial"), number=True),
        Column(title=tr("Value"), number=True),
        *(Column(title=called.get(name, name), number=True) for name in names),
    )
    rows = tuple(
        (
            str(trial.number),
            typographic(plain_return(trial.value or 0.0)),
            *(value_text(name, trial.settings.get(name)) for name in names),
        )
        for trial in sweep.best()[:_MOST_TRIALS]
    )
    about = ""
    if len(names) < len(sweep.searched):
        count = len(names)
        about = tr("The first {count} of the settings.", count=count)
        if sweep.importance:
            about = tr("The {count} settings of the largest importance.", count=count)
    return DataTable(columns=columns, rows=rows, about=about)


def _most_important(sweep: SweepFacts) -> list[str]:
    by_weight = sorted(sweep.searched, key=lambda name: -sweep.importance.get(name, 0.0))
    return by_weight[:_MOST_SETTINGS]


def _importance(sweep: SweepFacts) -> DataTable:
    called = labels()
    columns = (Column(title=tr("Setting")), Column(title=tr("Importance")))
    rows = tuple(
        (called.get(name, name), Cell(text=format_share(share), share=share))
        for name, share in sorted(sweep.importance.items(), key=lambda each: -each[1])
    )
    trials = sum(trial.state is TrialStatus.DONE for trial in sweep.trials)
    method = Text("By PED-ANOVA (Watanabe et al. 2023).")
    about = str(Text.joined([about_importance(trials), method]))
    return DataTable(columns=columns, rows=rows, about=about)
