"""The sections about the runs: settings, live changes, machines, and how to repeat them."""

from collections.abc import Mapping, Sequence

from td3core.analysis.results import settings_of
from td3core.config import all_given, sign_of
from td3core.config.presets import PLUS, compose
from td3core.config.value_text import (
    format_count,
    format_duration,
    plain_return,
    typographic,
)
from td3core.errors import RequestError, brief
from td3core.exporters.report.commands import commands_of
from td3core.exporters.report.document import (
    Block,
    Cell,
    Column,
    Commands,
    DataTable,
    Folded,
    Paragraph,
    Section,
)
from td3core.exporters.report.figures import MOST_LINES
from td3core.exporters.report.material import Material
from td3core.exporters.report.run_facts import RunFacts
from td3core.exporters.report.wording import LONGEST_VALUE, labels, value_text
from td3core.protocol.wording import JOURNAL, STATES
from td3core.runs.journal import Entry, is_scheduled
from td3core.runs.messages import from_keys
from td3core.system import timestamp
from td3core.text import Text, tr

_MOST_ENTRIES = 200
"""Maximum number of journal lines."""
_MOST_COLUMNS = 8
"""Maximum number of groups whose settings are shown side by side."""
_LONGEST_NOTE, _LONGEST_NAME = 600, 100
_LONGEST_COMMANDS = 60_000
_NOT_A_SETTING = ("history", "preset", "numerics", "engine", "threads")


# Settings ----------------------------------------------------------------------------------------


def settings_that_differ(found: Material) -> Section | None:
    """Return the settings that differ between groups or, for a single group, from its preset."""
    if len(found.comparison.groups) > 1:
        names = [name for name in found.comparison.differing if name not in ("history",)]
        return _between_groups(found, names) if names else None
    return _from_preset(found)


def _between_groups(found: Material, names: Sequence[str]) -> Section:
    groups, called = found.comparison.groups, labels()
    shown = groups[:_MOST_COLUMNS]
    heads = (Column(title=_head(name, called)) for name in names)
    columns = (Column(title=tr("Group")), *heads)
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            Cell(text=each.name, place=place if place < MOST_LINES else None),
            *(typographic(each.group.values(name)) for name in names),
        )
        for place, each in enumerate(groups)
    )
    if len(names) > len(shown) and len(groups) <= _MOST_COLUMNS:
        # Transposed: there are more settings than groups.
        columns = (
            Column(title=tr("Setting")),
            *(Column(title=brief(each.name, _LONGEST_NAME)) for each in shown),
        )
        rows = tuple(
            (_head(name, called), *(typographic(each.group.values(name)) for each in shown))
            for name in names
        )
    about = tr("The others are the same, or change nothing that is learned.")
    table = DataTable(columns=columns, rows=rows, about=about)
    return Section(name="differ", title=tr("Settings that differ"), blocks=(table,))


def _head(name: str, called: Mapping[str, str]) -> str:
    return called.get(name, name)


def _from_preset(found: Material) -> Section | None:
    facts = next(iter(found.runs.values()))
    if facts.imported:
        return None
    run = facts.directory
    names = [name for name in run.config.preset.split(PLUS) if name]
    try:
        usual = all_given(*compose(run.config.env, names, {}))
    except RequestError:
        found.missing.append(tr("Differences from the preset: the preset is not installed here."))
        return None
    now, called = all_given(run.config, run.first_tunables), labels()
    left_out = ("env", "seed", *_NOT_A_SETTING)
    changed = [n for n in now if n not in left_out and now[n] != usual.get(n)]
    preset = run.config.preset or tr("the defaults")
    title = tr("Settings that differ from the preset")
    if not changed:
        text = tr("None: all settings are those of {preset}.", preset=preset)
        return Section(name="differ", title=title, blocks=(Paragraph(text=text),))
    columns = (
        Column(title=tr("Setting")),
        Column(title=tr("Here"), number=True),
        Column(title=brief(preset, _LONGEST_NAME), number=True),
    )
    rows = tuple((called[n], value_text(n, now[n]), value_text(n, usual.get(n))) for n in changed)
    return Section(name="differ", title=title, blocks=(DataTable(columns=columns, rows=rows),))


def all_settings(found: Material) -> Section:
    """Return every setting of every group, collapsed."""
    groups, called = found.comparison.groups[:_MOST_COLUMNS], labels()
    columns = (
        Column(title=tr("Setting")),
        Column(title=tr("Name"), code=True),
        *(Column(title=brief(each.name, _LONGEST_NAME), number=True) for each in groups),
    )
    names = [name for name in settings_of(groups[0].group.runs[0]) if name != "history"]
    rows = tuple(
        (called.get(n, n), n, *(typographic(each.group.values(n, sign_of)) for each in groups))
        for n in names
    )
    blocks: tuple[Block, ...] = (DataTable(columns=columns, rows=rows),)
    if len(found.comparison.groups) > len(groups):
        found.missing.append(
            str(
                Text.counted(
                    "Settings of {n} group: the table has the first {most}.",
                    "Settings of {n} groups: the table has the first {most}.",
                    n=len(found.comparison.groups) - len(groups),
                    most=_MOST_COLUMNS,
                )
            )
        )
    for run in found.runs.values():
        if run.imported and not run.results.curves_only:
            found.missing.append(
                tr(
                    "Settings of {run} that the imported file does not have: the table shows the"
                    " defaults.",
                    run=_name(run),
                )
            )
    folded = Folded(title=tr("Show all {count} settings", count=len(names)), blocks=blocks)
    return Section(name="settings", title=tr("All settings"), blocks=(folded,))


# Journal -----------------------------------------------------------------------------------------


def journal(found: Material) -> Section | None:
    """Return the live changes and other actions on the runs."""
    entries = [(run, entry) for run in found.runs.values() for entry in run.entries]
    if not entries:
        found.missing.append(tr("Live changes: there were none."))
        return None
    named = [] if found.single else [Column(title=tr("Run"))]
    columns = (
        *named,
        Column(title=tr("Step"), number=True),
        Column(title=tr("What")),
        Column(title=tr("From"), number=True),
        Column(title=tr("To"), number=True),
        Column(title=tr("When")),
    )
    called, several = labels(), not found.single
    rows = tuple(
        (*([_name(run)] if several else []), *_row_of_entry(entry, called))
        for run, entry in entries[:_MOST_ENTRIES]
    )
    about = tr("A change takes effect after its step.")
    if len(entries) > _MOST_ENTRIES:
        left = Text.counted(
            "{n} line is left out.", "{n} lines are left out.", n=len(entries) - _MOST_ENTRIES
        )
        about = f"{about} {left}"
    table = DataTable(columns=columns, rows=rows, about=about)
    return Section(name="journal", title=tr("Live changes"), blocks=(table,))


def _row_of_entry(entry: Entry, called: Mapping[str, str]) -> tuple[str, ...]:
    made = timestamp.shown(brief(entry.get("time", ""), 40))
    when = tr("planned") if is_scheduled(entry) else made
    step = format_count(entry["step"])
    if "field" in entry:
        field = entry["field"]
        values = (value_text(field, entry.get("old")), value_text(field, entry["new"]))
        return (step, called.get(field, field), *values, when)
    event = brief(entry["event"], LONGEST_VALUE)
    done, message = JOURNAL.get(event, event), from_keys(entry, _LONGEST_NOTE)
    told = tr("{done}: {message}", done=done, message=message) if message else str(done)
    return (step, told, "", "", when)


def _name(run: RunFacts) -> str:
    return brief(run.summary.title, _LONGEST_NAME)


# Runs --------------------------------------------------------------------------------------------


def runs_section(found: Material) -> Section:
    """Return the names of the runs, their progress and their folders."""
    columns = (
        Column(title=tr("Run")),
        Column(title=tr("Seed"), number=True),
        Column(title=tr("State")),
        Column(title=tr("Steps"), number=True),
        Column(title=tr("Last"), number=True),
        Column(title=tr("Best"), number=True),
        Column(title=tr("Time"), number=True),
        Column(title=tr("Started")),
    )
    rows = tuple(_row_of_run(run) for run in found.runs.values())
    blocks: list[Block] = [DataTable(columns=columns, rows=rows)]
    noted = [run for run in found.runs.values() if run.summary.note.strip()]
    if noted:
        blocks.append(
            DataTable(
                columns=(Column(title=tr("Run")), Column(title=tr("Note"))),
                rows=tuple((_name(run), brief(run.summary.note, _LONGEST_NOTE)) for run in noted),
            )
        )
    failed = [run for run in found.runs.values() if run.summary.message]
    if failed:
        blocks.append(
            DataTable(
                columns=(Column(title=tr("Run")), Column(title=tr("Why it failed"))),
                rows=tuple(
                    (_name(run), brief(run.summary.message, _LONGEST_NOTE)) for run in failed
                ),
            )
        )
    return Section(name="runs", title=tr("Runs"), blocks=tuple(blocks))


def _row_of_run(run: RunFacts) -> tuple[str, ...]:
    found = run.summary
    returns = (
        "–" if value is None else typographic(plain_return(value))
        for value in (found.last_eval_return, found.best_eval_return)
    )
    return (
        _name(run),
        str(found.seed),
        str(STATES[found.state]),
        format_count(found.env_steps),
        *returns,
        format_duration(found.wall_s) if found.wall_s else "–",
        timestamp.shown(brief(found.created, LONGEST_VALUE)),
    )


def machines(found: Material) -> Section | None:
    """Return where and with which versions the runs were trained; equal values are listed once."""
    runs = tuple(found.runs.values())
    # None for imports, whose settings are not this program's.
    configs = [None if run.imported else run.directory.config for run in runs]
    called = {
        tr("Processor"): [run.machine.get("processor", "") for run in runs],
        tr("Cores"): [run.machine.get("cores", "") for run in runs],
        tr("System"): [run.machine.get("system", "") for run in runs],
        tr("Numerics class"): [config.numerics if config else "" for config in configs],
        tr("Engine"): [config.engine if config else "" for config in configs],
        tr("Device"): [config.device if config else "" for config in configs],
    }
    names = dict.fromkeys(name for run in runs for name in run.versions)
    called |= {name: [run.versions.get(name, "") for run in runs] for name in names}
    rows = tuple((name, _several(values)) for name, values in called.items() if any(values))
    without = sum(not run.machine or not run.versions for run in runs)
    if without:
        text = Text.counted(
            "Machine and versions of {n} run: they are not on record.",
            "Machine and versions of {n} runs: they are not on record.",
            n=without,
        )
        found.missing.append(str(text))
    environment = _environment(runs)
    if not (environment or rows):
        return None
    columns = (Column(title=tr("What")), Column(title=tr("Which")))
    table = DataTable(columns=columns, rows=(*environment, *rows))
    about = tr(
        "The same settings, seed, numerics class, compiled engine and versions give the same run,"
        " bit for bit."
    )
    blocks = (table, Paragraph(text=about, quiet=True))
    return Section(name="machine", title=tr("Machine and versions"), blocks=blocks)


def _several(values: Sequence[str]) -> str:
    return brief(", ".join(dict.fromkeys(value or tr("not on record") for value in values)), 300)


def _environment(runs: Sequence[RunFacts]) -> tuple[tuple[str, str], ...]:
    """Return a line for each environment whose sizes are on record."""
    found = {}
    for run in runs:
        if run.header is not None:
            info = run.header.env
            parts = [
                Text.counted("{n} observation", "{n} observations", n=info.obs_dim),
                Text.counted("{n} action", "{n} actions", n=info.act_dim),
            ]
            if info.max_episode_steps:
                parts.append(Text("at most {steps:,} steps", steps=info.max_episode_steps))
            found[brief(run.directory.config.env, _LONGEST_NAME)] = ", ".join(map(str, parts))
    return tuple(found.items())


def commands(found: Material) -> Section:
    """Return the commands that train the runs again."""
    text = "\n".join(commands_of(tuple(found.runs.values())))
    if len(text) > _LONGEST_COMMANDS:
        text = text[:_LONGEST_COMMANDS]
        found.missing.append(tr("Some of the commands: they are very long."))
    about = tr(
        "Typed in a terminal, where TD3 Studio is installed. A run whose live settings were changed"
        " needs the folder of the run that it repeats (--journal), a branch that of its parent."
    )
    blocks = (Commands(text=text), Paragraph(text=about, quiet=True))
    return Section(name="commands", title=tr("Train them again"), blocks=blocks)
