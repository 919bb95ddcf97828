"""The command that lists runs."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from td3core.cli.options import AsJson, RunsDir
from td3core.cli.paths import runs_folder
from td3core.cli.terminal import Answer, log
from td3core.errors import RequestError

if TYPE_CHECKING:
    from td3core.runs.listing import RunSummary


def list_command(runs_dir: RunsDir = None, as_json: AsJson = False) -> Answer:
    """List the runs of a folder, newest first."""
    from td3core.runs.listing import list_runs, summarise

    folder = runs_folder(runs_dir)
    if folder.is_file():
        raise RequestError("{path} is a file, not a folder of runs.", path=str(folder))
    summaries = [summarise(run) for run in list_runs(folder)]
    if as_json:
        found = [asdict(summary) | {"run": str(summary.run)} for summary in summaries]
        return Answer(result=found)
    if summaries:
        title = f"Runs in {escape(str(folder))}"
        Console(highlight=False).print(_table(summaries, title))
    else:
        log(f"There are no runs in {folder}")
    return Answer()


def _table(summaries: "list[RunSummary]", title: str) -> Table:
    columns = ("state", "steps", "last return", "best return")
    table = Table(Column("run", overflow="fold"), *columns, title=title)
    for each in summaries:
        means = (each.last_eval_return, each.best_eval_return)
        shown = ("-" if mean is None else f"{mean:.1f}" for mean in means)
        parent = f"branched from {each.parent.run}" if each.parent else ""
        names = "\n  ".join(escape(text) for text in (each.run.name, each.name, parent) if text)
        table.add_row(names, str(each.state), f"{each.env_steps:,} of {each.steps:,}", *shown)
    return table
