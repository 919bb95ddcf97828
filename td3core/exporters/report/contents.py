"""Assembles a report from runs: its sections, and notes on what is missing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from td3core import __version__
from td3core.analysis.comparison import compare
from td3core.analysis.figure_data import FigureData
from td3core.analysis.groups import BY_SETTINGS
from td3core.analysis.results import Metric, XAxis, require_recorded
from td3core.config.value_text import typographic
from td3core.errors import RequestError, brief, unknown_name
from td3core.exporters.report import results_section, run_sections
from td3core.exporters.report.document import (
    Block,
    Document,
    Film,
    Notes,
    Paragraph,
    Plot,
    Plots,
    Section,
)
from td3core.exporters.report.figures import MOST_LINES, bias_of, returns_of, training_plots
from td3core.exporters.report.material import Material
from td3core.exporters.report.measured_plots import HEALTH, LEARNING, MeasuredPlot
from td3core.exporters.report.run_facts import RunFacts
from td3core.protocol.run_status import RunStatus
from td3core.text import Text, tr

PARTS = ("learning", "bias", "health", "journal", "settings", "machine", "commands")
"""Sections that can be left out."""
_LONGEST_TITLE, _LONGEST_QUESTION, _MOST_NAMED = 120, 600, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Requested contents of a report."""

    title: str = ""
    """If empty, the title is made from the compared runs."""
    question: str = ""
    subject: str = ""
    """The group or sweep of the runs, if any."""
    metric: Metric = "eval"
    x: XAxis = "steps"
    by: tuple[str, ...] = (BY_SETTINGS,)
    names: Mapping[Path, str] = field(default_factory=dict)
    """Names that replace those of groups, by the folder of the group's first run."""
    without: frozenset[str] = frozenset()
    """The :data:`PARTS` to leave out."""
    films: tuple[Film, ...] = ()
    first: tuple[Section, ...] = ()
    """Sections before all others, such as a sweep's."""
    missing: tuple[str, ...] = ()
    """Sentences about what could not be read or made."""

    def __post_init__(self) -> None:
        for part in sorted(self.without):
            if part not in PARTS:
                raise unknown_name("There is no part of a report called {name}.", part, PARTS)


def document_of(runs: Sequence[RunFacts], request: ReportRequest) -> Document:
    """Assemble a report.

    Raises:
        RequestError: there are no runs, or they cannot be grouped as wanted.
    """
    if not runs:
        raise RequestError("No runs to report.")
    results = [run.results for run in runs]
    require_recorded(request.metric, results)
    found = Material(
        comparison=compare(results, request.metric, request.by, request.names, x=request.x),
        bias=compare(results, "bias", request.by, request.names),
        runs={run.path: run for run in runs},
        x=request.x,
        missing=list(request.missing),
    )
    sections = [*request.first, *_sections(found, request)]
    if found.missing:
        notes = Notes(texts=tuple(found.missing), quiet=True)
        sections.append(Section(name="missing", title=tr("Not in this report"), blocks=(notes,)))
    return Document(
        title=brief(request.title, _LONGEST_TITLE) or _title(found, request),
        question=brief(request.question, _LONGEST_QUESTION),
        subtitle=_subtitle(found),
        sections=tuple(sections),
        footer=tr("Written by TD3 Studio {version} on {date}.", version=__version__, date=_today()),
    )


def _today() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d %H:%M}"


def _title(found: Material, request: ReportRequest) -> str:
    if request.subject:
        return brief(request.subject, _LONGEST_TITLE)
    if found.single:
        (run,) = found.runs.values()
        return brief(run.summary.full_title, _LONGEST_TITLE)
    groups = found.comparison.groups
    envs = ", ".join(dict.fromkeys(each.group.env for each in groups))
    names = ", ".join(each.name for each in groups)
    short = len(groups) <= _MOST_NAMED and len(names) < _LONGEST_TITLE // 2
    return brief(f"{envs}: {names}" if short else envs, _LONGEST_TITLE)


def _subtitle(found: Material) -> str:
    groups, runs = found.comparison.groups, tuple(found.runs.values())
    parts: list[object] = list(dict.fromkeys(run.summary.algorithm for run in runs))
    parts += dict.fromkeys(brief(each.group.env, _LONGEST_TITLE) for each in groups)
    parts.append(Text.counted("{n} run", "{n} runs", n=len(runs)))
    if len(groups) > 1:
        parts.append(Text.counted("{n} group", "{n} groups", n=len(groups)))
    steps = {run.directory.config.steps for run in runs}
    if len(steps) == 1:
        parts.append(Text("{steps:,} steps", steps=steps.pop()))
    return "  ·  ".join(map(str, parts))


def _sections(found: Material, request: ReportRequest) -> Iterator[Section]:
    """Yield the sections in order."""
    made: tuple[tuple[str, Callable[[Material], Section | None]], ...] = (
        ("", results_section.section_of),
        ("", _curves),
        ("", run_sections.settings_that_differ),
        ("", lambda _: _films(request)),
        ("learning", partial(_measured, "learning", tr("Training metrics"), LEARNING)),
        ("bias", _bias),
        ("health", partial(_measured, "health", tr("Health of the networks"), HEALTH)),
        ("journal", run_sections.journal),
        ("", run_sections.runs_section),
        ("settings", run_sections.all_settings),
        ("machine", run_sections.machines),
        ("commands", run_sections.commands),
    )
    for part, make in made:
        section = None if part in request.without else make(found)
        if section is not None:
            yield section


def _films(request: ReportRequest) -> Section | None:
    if not request.films:
        return None
    return Section(name="films", title=tr("Films"), blocks=request.films)


def _curves(found: Material) -> Section:
    comparison = found.comparison
    figure = returns_of(found)
    blocks: list[Block] = [Plots(plots=(Plot(title="", figure=figure),))]
    if any(len(line.x) for line in figure.lines):
        blocks.append(Paragraph(text=_about_curves(found, figure), quiet=True))
    else:
        blocks = [Paragraph(text=tr("Nothing has been measured yet."))]
    left = len(comparison.groups) - MOST_LINES
    if left > 0:
        template = "Curves of {left} groups: a figure shows the first {most}."
        found.missing.append(tr(template, left=left, most=MOST_LINES))
    living = sum(run.summary.state is RunStatus.RUNNING for run in found.runs.values())
    if living:
        text = Text.counted(
            "The rest of {n} run that was still training when this report was written.",
            "The rest of {n} runs that were still training when this report was written.",
            n=living,
        )
        found.missing.append(str(text))
    return Section(name="curves", title=tr("Curves"), blocks=tuple(blocks))


def _about_curves(found: Material, figure: FigureData) -> str:
    texts = []
    if not found.single:
        texts.append(
            Text(
                "Line: interquartile mean of the runs. Band: 95 % interval of a bootstrap"
                " over them. Thin: the single runs, where there are few."
            )
        )
    if figure.threshold is not None:
        value = typographic(f"{figure.threshold:g}")
        texts.append(Text("Dashed: a return of {value} counts as solved.", value=value))
    if figure.marks:
        texts.append(Text("Dotted: live changes of settings."))
    return str(Text.joined(texts)) if texts else ""


def _measured(
    name: str, title: str, measured: Sequence[MeasuredPlot], found: Material
) -> Section | None:
    plots = training_plots(measured, found)
    if not plots:
        found.missing.append(tr("{section}: not recorded in these runs.", section=title))
        return None
    return Section(name=name, title=title, blocks=(Plots(plots=plots),))


def _bias(found: Material) -> Section | None:
    figure = bias_of(found)
    if not any(len(line.x) for line in figure.lines):
        found.missing.append(tr("Bias of the critics: it was not measured in these runs."))
        return None
    about = tr(
        "Predicted Q minus the discounted return that followed, divided by the absolute mean of"
        " that return, or by 1 if that is larger. Above 0, the critics overestimate."
    )
    blocks = (
        Paragraph(text=about, quiet=True),
        Plots(plots=(Plot(title="", figure=figure),)),
        results_section.table_of(found.bias),
    )
    return Section(name="bias", title=tr("Do the critics overestimate?"), blocks=blocks)
