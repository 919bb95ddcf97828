"""The command that lists runs."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from td3core.cli.options import AsJson, RunsDir
from td3core.cli.paths import runs_folder
from td3core.cli.terminal import CommandResult, log, print_result, printable, return_cell
from td3core.config.value_text import plain_return
from td3core.errors import RequestError
from td3core.text import Text, one_line, tr

if TYPE_CHECKING:
    from td3core.runs.listing import RunSummary, UnreadableRun

UNREADABLE = "unreadable"
"""State of a run that cannot be opened, for programs; people read that it is damaged."""


def list_command(runs_dir: RunsDir = None, as_json: AsJson = False) -> CommandResult:
    """The command ``list``."""
    from td3core.runs.listing import RunSummary, list_runs, summarise, unreadable_runs
    from td3core.runs.naming import Usual, changed_settings

    folder = runs_folder(runs_dir)
    if folder.is_file():
        raise RequestError("{path} is a file, not a folder of runs.", path=str(folder))
    usual: Usual = {}
    runs = list(list_runs(folder))
    summaries = [summarise(run, usual) for run in runs]
    unreadable = list(unreadable_runs(folder))
    if as_json:
        found = [
            asdict(each) | {"changed_settings": changed_settings(run, usual)}
            for run, each in zip(runs, summaries, strict=True)
        ]
        nothing = dict.fromkeys((*RunSummary.__slots__, "changed_settings"))
        found += [nothing | {"state": UNREADABLE} | asdict(each) for each in unreadable]
        return CommandResult(result=[each | {"run": str(each["run"])} for each in found])
    if (summaries or unreadable) and not sys.stdout.isatty():
        for line in _lines(summaries, unreadable):
            print_result(line)
    elif summaries or unreadable:
        title = tr("Runs in {folder}", folder=folder)
        table = _table(summaries, unreadable, escape(printable(title)))
        Console(highlight=False).print(table)
    else:
        log(Text("There are no runs in {folder}", folder=folder))
    return CommandResult()


def _lines(summaries: "list[RunSummary]", unreadable: "list[UnreadableRun]") -> Iterator[str]:
    """Yield a line per run for other programs: untruncated, English, tab-separated."""
    for each in summaries:
        means = (each.last_eval_return, each.best_eval_return)
        shown = ("" if mean is None else plain_return(mean, grouped=False) for mean in means)
        steps = (str(each.env_steps), str(each.steps))
        parent = each.parent.run if each.parent else ""
        about = (each.env, each.title, parent, each.group, each.message.english)
        yield _line(each.run.name, str(each.state), *steps, *shown, *about)
    for run in unreadable:
        yield _line(run.run.name, UNREADABLE, *[""] * 8, run.message.english)


def _line(*values: str) -> str:
    # User-defined names and folder names may contain any character.
    return "\t".join(printable(one_line(value)) for value in values)


def _table(summaries: "list[RunSummary]", unreadable: "list[UnreadableRun]", title: str) -> Table:
    from td3core.protocol.wording import STATES

    columns = (tr("state"), tr("steps"), tr("last return"), tr("best return"))
    table = Table(Column(tr("run"), overflow="fold"), *columns, title=title)
    for each in summaries:
        shown = map(return_cell, (each.last_eval_return, each.best_eval_return))
        parent = tr("branched from {run}", run=each.parent.run) if each.parent else ""
        group = tr("group {group}", group=each.group) if each.group else ""
        lines = (each.run.name, each.full_title, parent, group)
        names = "\n  ".join(escape(printable(text)) for text in lines if text)
        steps = tr("{done:,} of {steps:,}", done=each.env_steps, steps=each.steps)
        table.add_row(names, str(STATES[each.state]), steps, *shown)
    for run in unreadable:
        names = "\n  ".join(escape(printable(text)) for text in (run.run.name, str(run.message)))
        table.add_row(names, tr("damaged"), "-", "-", "-")
    return table
