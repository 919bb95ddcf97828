"""The command that compares runs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.options import AsJson, Force, RunsDir, limited
from td3core.cli.paths import require_writable_name
from td3core.cli.selection import (
    DEFAULT_METRIC,
    GroupBy,
    Metric,
    Renamed,
    Selections,
    XAxis,
    checked_metric,
    chosen_runs,
    new_names,
    setting_names,
)
from td3core.cli.terminal import CommandResult, log, printable
from td3core.errors import RequestError
from td3core.text import Text, marked, tr

if TYPE_CHECKING:
    from td3core.analysis.aggregate import Estimate
    from td3core.analysis.comparison import Comparison, GroupResult
    from td3core.analysis.results import RunResults


_FILES = ("--csv", "--png", "--svg", "--pdf")
_SUFFIXES = tuple(option.replace("--", ".") for option in _FILES)


def _file_option(option: str, about: str) -> Any:
    return typer.Option(option, metavar="FILE", help=about)


def compare_command(
    runs: Selections,
    group_by: GroupBy = "settings",
    rename: Renamed = None,
    x: XAxis = "steps",
    metric: Metric = DEFAULT_METRIC,
    csv: Annotated[
        Path | None, _file_option("--csv", marked("Write the curves as a table."))
    ] = None,
    png: Annotated[Path | None, _file_option("--png", marked("Write the figure as PNG."))] = None,
    svg: Annotated[Path | None, _file_option("--svg", marked("Write the figure as SVG."))] = None,
    pdf: Annotated[Path | None, _file_option("--pdf", marked("Write the figure as PDF."))] = None,
    size: Annotated[
        str, typer.Option("--size", metavar="WxH", help=marked("Size of the figure in inches."))
    ] = "",
    columns: Annotated[
        int,
        limited(
            "--columns", "N", marked("Width of the figure in text columns: 1 or 2."), low=1, high=2
        ),
    ] = 1,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help=marked("Title of the figure."))
    ] = "",
    smooth: Annotated[
        int | None,
        limited(
            "--smooth", "N", marked("Window of the moving average of the curves, in values."), low=1
        ),
    ] = None,
    force: Force = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``compare``."""
    from td3core.analysis.comparison import compare
    from td3core.analysis.figure_data import figure_of, sized
    from td3core.analysis.results import require_recorded
    from td3core.exporters.registry import export_figure

    files = _targets((csv, png, svg, pdf), force)
    _require_use(files, {"--size": size, "--columns": columns != 1, "--title": title}, smooth)
    found, by = _read(runs, runs_dir), setting_names(group_by)
    require_recorded(checked_metric(metric), found)
    names = new_names(rename, found, by)
    comparison = compare(found, metric, by, names, x=x)
    if files:
        figure = figure_of(comparison, x, title=title, smoothing=smooth)
        figure = sized(figure, size, columns)
        for file in files:
            export_figure(figure, file)
            log(Text("Written: {file}", file=file))
    if as_json:
        return CommandResult(result=as_object(comparison))
    _show(comparison)
    return CommandResult()


def _read(selections: Sequence[str], runs_dir: Path | None) -> "list[RunResults]":
    """Read the selected runs.

    Raises:
        RequestError: an argument names no run, or there are too many runs.
    """
    from td3core.analysis.results import read_results

    return [read_results(path) for path in chosen_runs(selections, runs_dir)]


def _targets(files: Sequence[Path | None], force: bool) -> list[Path]:
    """Return the files to write.

    Raises:
        RequestError: a suffix does not match its format, or a file cannot be written.
    """
    found = []
    for file, option, suffix in zip(files, _FILES, _SUFFIXES, strict=True):
        if file is None:
            continue
        if file.suffix.lower() != suffix:
            raise RequestError(
                "{option} takes a file that ends in {suffix}, not {file}.",
                option=option,
                suffix=suffix,
                file=repr(file.name),
            )
        require_writable_name(file, overwrite=force)
        found.append(file.absolute())
    return found


def _require_use(files: Sequence[Path], looks: dict[str, object], smooth: int | None) -> None:
    """Refuse options of a figure, or of its curves, that no file would show.

    Raises:
        RequestError: such an option is given.
    """
    if smooth is not None and not files:
        raise RequestError("{option} needs {options}.", option="--smooth", options=_any_of(_FILES))
    if all(file.suffix.lower() == ".csv" for file in files):
        for option, value in looks.items():
            if value:
                values = {"option": option, "options": _any_of(_FILES[1:])}
                raise RequestError("{option} needs {options}.", **values)


def _any_of(options: Sequence[str]) -> str:
    return tr("{options} or {last}", options=", ".join(options[:-1]), last=options[-1])


# Display -----------------------------------------------------------------------------------------


def as_object(comparison: "Comparison") -> dict[str, Any]:
    """Return a comparison as plain values for JSON."""
    from td3core.analysis.comparison import improvements

    groups = [
        {
            "name": each.name,
            "env": each.group.env,
            "runs": [str(run.path) for run in each.group.runs],
            "n": len(each.finals),
            "final": _plain(each.final),
            "final_steps": _steps_of(each),
            "best": _plain(each.best),
            **({"deviation": _plain(each.deviation)} if comparison.metric == "bias" else {}),
            "settings": {name: each.group.values(name) for name in comparison.differing},
        }
        for each in comparison.groups
    ]
    # The old keys promise an order that the pairs do not have: they name the same two groups.
    chances = [
        {"first": first.name, "second": second.name}
        | {"better": first.name, "worse": second.name}
        | (_plain(chance) or {})
        for first, second, chance in improvements(comparison)
    ]
    return {
        "metric": comparison.metric,
        "groups": groups,
        "improvement": chances,
        "differing": list(comparison.differing),
        "notes": list(comparison.notes),
    }


def _plain(found: "Estimate | None") -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def _steps_of(each: "GroupResult") -> dict[str, int] | None:
    ends = each.ends
    return {"low": int(min(ends)), "high": int(max(ends))} if len(ends) else None


def _steps_text(each: "GroupResult") -> str:
    """Return the last measured steps of a group's runs, such as ``750-6,000``."""
    steps = _steps_of(each)
    return "-".join(f"{step:,}" for step in dict.fromkeys(steps.values())) if steps else "-"


def _show(comparison: "Comparison") -> None:
    """Print the comparison in readable form."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from td3core.analysis.comparison import improvements
    from td3core.analysis.wording import decimals_of, estimate_text, metric_title

    def text(value: str) -> str:
        return escape(printable(value))

    out = Console(highlight=False)
    beside = tr("deviation") if comparison.metric == "bias" else tr("best")
    counted = (tr("runs"), tr("steps"), tr("final"), beside)
    numbers = (Column(name, justify="right", overflow="fold") for name in counted)
    title = str(metric_title(comparison.metric))
    table = Table(Column(tr("group"), overflow="fold"), *numbers, title=title)
    for each in comparison.groups:
        figures = (each.final, each.deviation or each.best)
        means = (estimate_text(found, decimals_of(comparison.metric)) for found in figures)
        table.add_row(text(each.name), str(len(each.finals)), _steps_text(each), *means)
    out.print(table)
    if len(comparison.groups) > 1 and comparison.differing:
        heads = (tr("setting"), *(text(each.name) for each in comparison.groups))
        columns = (Column(head, overflow="fold") for head in heads)
        settings = Table(*columns, title=tr("Settings that differ"))
        for name in comparison.differing:
            settings.add_row(name, *(text(each.group.values(name)) for each in comparison.groups))
        out.print(settings)
    for first, second, chance in improvements(comparison):
        names = f"{text(first.name)} > {text(second.name)}"
        out.print(f"P({names}) = {estimate_text(chance, 2)}", soft_wrap=True)
    for note in comparison.notes:
        log(note)
