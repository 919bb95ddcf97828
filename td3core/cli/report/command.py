"""The command that writes a report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.options import AsJson, Force, RunsDir, TrustEnv
from td3core.cli.paths import require_writable_name, runs_folder
from td3core.cli.progress_line import tell_progress
from td3core.cli.selection import (
    DEFAULT_METRIC,
    GroupBy,
    Metric,
    Renamed,
    XAxis,
    checked_metric,
    chosen_runs,
    new_names,
    setting_names,
)
from td3core.cli.terminal import CommandResult, console, print_result
from td3core.errors import RequestError
from td3core.exporters.registry import REPORT_EXPORTERS, with_suffix_of
from td3core.text import Text, marked

if TYPE_CHECKING:
    from td3core.experiments.sweeps.folder import SweepFolder
    from td3core.exporters.report.contents import ReportRequest
    from td3core.exporters.report.document import Document
    from td3core.exporters.report.run_facts import RunFacts


def report_command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help=marked(
                "Runs: folders, names as shown by list, patterns such as 'Pendulum*', or names of"
                " groups; or one sweep."
            ),
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help=marked("An .html or .pdf file."))
    ],
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help=marked("Title of the report."))
    ] = "",
    question: Annotated[
        str,
        typer.Option("--question", metavar="TEXT", help=marked("What the runs were to answer.")),
    ] = "",
    group_by: GroupBy = "settings",
    rename: Renamed = None,
    x: XAxis = "steps",
    metric: Metric = DEFAULT_METRIC,
    film: Annotated[
        bool, typer.Option("--film", help=marked("Show episodes of the best agents (HTML only)."))
    ] = False,
    without: Annotated[
        str,
        typer.Option(
            "--without",
            metavar="PARTS",
            help=marked(
                "Leave out parts, separated by commas: learning, bias, health, journal, settings,"
                " machine, commands."
            ),
        ),
    ] = "",
    force: Force = False,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``report``."""
    from td3core.exporters.report.contents import ReportRequest

    require_writable_name(out, overwrite=force)
    out = out.absolute()
    exporter = with_suffix_of(out, REPORT_EXPORTERS)
    if film and exporter.name != "page":
        raise RequestError("--film needs an .html file: paper shows no films.")
    request = ReportRequest(
        title=title,
        question=question,
        by=tuple(setting_names(group_by)),
        x=x,
        metric=checked_metric(metric),
        without=frozenset(part.strip() for part in without.split(",") if part.strip()),
    )
    sweep = _sweep(runs, runs_dir)
    if sweep is not None:
        from td3core.cli.report.sweep import with_sweep

        request, paths = with_sweep(request, sweep)
    else:
        paths = chosen_runs(runs, runs_dir)
    facts, problems = _read(paths)
    names = new_names(rename, [run.results for run in facts], request.by)
    request = replace(request, missing=(*request.missing, *problems), names=names)
    if film:
        from td3core.cli.report.films import with_films

        request = with_films(request, facts, trust_env=trust_env)
    document = _document(facts, request)
    exporter.export(document, out)
    if not as_json:
        size = out.stat().st_size / 1e6
        print_result(
            Text.counted(
                "report of {n} run, {size:.1f} MB, written to {file}",
                "report of {n} runs, {size:.1f} MB, written to {file}",
                n=len(facts),
                size=size,
                file=out,
            )
        )
    return CommandResult(result=_result(document, out, exporter.name, facts))


def _sweep(selections: Sequence[str], runs_dir: Path | None) -> "SweepFolder | None":
    """Return the selected sweep, if any; a run or group of that name takes precedence."""
    from td3core.experiments.sweeps.folder import SweepFolder, sweep_names

    folder = runs_folder(runs_dir)
    if len(selections) != 1 or selections[0] not in sweep_names(folder):
        return None
    try:
        chosen_runs(selections, runs_dir)
    except RequestError:
        return SweepFolder.find(folder, selections[0])
    return None


def _read(paths: Sequence[Path]) -> "tuple[list[RunFacts], list[str]]":
    """Read the runs; unreadable ones are reported, unless there are no others.

    Raises:
        RequestError: no run can be read.
    """
    from td3core.exporters.report.run_facts import read_facts

    found, problems = [], []
    for number, path in enumerate(paths):
        if not console.is_terminal:
            position = {"number": number + 1, "count": len(paths)}
            tell_progress(Text("Reading run {number} of {count}", **position), number / len(paths))
        try:
            found.append(read_facts(path))
        except RequestError as problem:
            problems.append(problem)
    if problems and not found:
        raise problems[0]
    return found, [str(problem) for problem in problems]


def _document(facts: "Sequence[RunFacts]", request: "ReportRequest") -> "Document":
    from td3core.exporters.report.contents import document_of
    from td3core.exporters.report.page import within_limit

    return within_limit(document_of(facts, request))


def _result(
    document: "Document", out: Path, name: str, facts: "Sequence[RunFacts]"
) -> dict[str, Any]:
    from td3core.exporters.report.document import Notes

    missing = [
        text
        for section in document.sections
        if section.name == "missing"
        for block in section.blocks
        if isinstance(block, Notes)
        for text in block.texts
    ]
    return {
        "file": str(out),
        "format": name,
        "bytes": out.stat().st_size,
        "title": document.title,
        "runs": [str(run.path) for run in facts],
        "sections": [section.name for section in document.sections],
        "films": len(list(document.films())),
        "missing": missing,
    }
