"""The results section: the numbers with their intervals."""

from td3core.analysis.aggregate import Estimate
from td3core.analysis.comparison import Comparison, GroupResult, improvements
from td3core.analysis.wording import decimals_of, estimate_text
from td3core.config.value_text import format_count, format_duration, typographic
from td3core.exporters.report.document import (
    Block,
    Cell,
    Column,
    DataTable,
    KeyNumber,
    KeyNumbers,
    Notes,
    Paragraph,
    Section,
)
from td3core.exporters.report.figures import MOST_LINES
from td3core.exporters.report.material import Material
from td3core.exporters.report.wording import state_of_runs
from td3core.text import Text, tr

_MOST_PAIRS = 30


def section_of(found: Material) -> Section:
    """Return the section."""
    comparison = found.comparison
    blocks: list[Block] = [_key_numbers(found)]
    if comparison.notes:
        blocks.append(Notes(texts=tuple(typographic(str(note)) for note in comparison.notes)))
    if not found.single:
        blocks.append(table_of(comparison))
        blocks.append(Paragraph(text=_about(comparison), quiet=True))
        chances = tuple(improvements(comparison))
        if chances:
            blocks.append(_table_of_chances(chances))
    return Section(name="results", title=tr("Results"), blocks=tuple(blocks))


def _key_numbers(found: Material) -> KeyNumbers:
    comparison = found.comparison
    known = [each for each in comparison.groups if each.final is not None]
    numbers = []
    if known and len({each.group.env for each in comparison.groups}) == 1:
        top = max(known, key=lambda each: each.final.value if each.final else 0.0)
        about = tr("Final return") if len(comparison.groups) == 1 else tr("Highest final return")
        detail = _interval(top.final, comparison)
        if len(comparison.groups) > 1:
            detail = f"{top.name}  {detail}".strip()
        numbers.append(KeyNumber(about=about, value=_value(top.final, comparison), detail=detail))
        if found.single and top.best is not None:
            numbers.append(KeyNumber(about=tr("Best return"), value=_value(top.best, comparison)))
    summaries = [run.summary for run in found.runs.values()]
    steps = sum(each.env_steps for each in summaries)
    wall = sum(each.wall_s for each in summaries)
    about = tr("Steps trained") if found.single else tr("Steps trained, all runs")
    detail = tr("in {duration}", duration=format_duration(wall)) if wall else ""
    numbers.append(KeyNumber(about=about, value=format_count(steps), detail=detail))
    state, detail = state_of_runs(summaries)
    numbers.append(KeyNumber(about=tr("State"), value=state, detail=detail))
    return KeyNumbers(numbers=tuple(numbers))


def _value(found: Estimate | None, comparison: Comparison) -> str:
    if found is None:
        return "–"
    return typographic(f"{found.value:,.{decimals_of(comparison.metric)}f}")


def _interval(found: Estimate | None, comparison: Comparison) -> str:
    if found is None or found.interval is None:
        return ""
    decimals = decimals_of(comparison.metric)
    low, high = (f"{end:,.{decimals}f}" for end in (found.interval.low, found.interval.high))
    return typographic(f"[{low}, {high}]")


def table_of(comparison: Comparison) -> DataTable:
    """Return the groups with their numbers."""
    of_bias = comparison.metric == "bias"
    beside = tr("Deviation over states") if of_bias else tr("Best")
    columns = (
        Column(title=tr("Group")),
        Column(title=tr("Runs"), number=True),
        *(Column(title=title, number=True) for title in (tr("Final"), "", beside, "")),
    )
    rows = tuple(_row(place, each, comparison) for place, each in enumerate(comparison.groups))
    return DataTable(columns=columns, rows=rows)


def _row(place: int, each: GroupResult, comparison: Comparison) -> tuple[str | Cell, ...]:
    numbers = []
    for found in (each.final, each.deviation or each.best):
        numbers += [_value(found, comparison), _interval(found, comparison)]
    name = Cell(text=each.name, place=place if place < MOST_LINES else None)
    return (name, str(len(each.finals)), *numbers)


def _about(comparison: Comparison) -> str:
    what = {
        "eval": Text("evaluations: a tenth of them, at most 10"),
        "return": Text("training episodes: a tenth of them, at most 100"),
        "bias": Text("evaluations that measured it"),
    }
    episodes = what["return"]
    return tr(
        "Final: of each run the mean of its last {what}; then the interquartile mean over the"
        " runs. In brackets its 95 % bootstrap interval, as in Agarwal et al. 2021. The best of"
        " many noisy values is too high: judge by the final one.",
        what=what.get(comparison.metric, episodes),
    )


def _table_of_chances(chances: tuple[tuple[GroupResult, GroupResult, Estimate], ...]) -> DataTable:
    columns = (
        Column(title=tr("How likely a run of …")),
        Column(title=tr("… ends higher than one of")),
        Column(title=tr("P"), number=True),
        Column(title="", number=True),
    )
    rows = []
    for first, second, chance in chances[:_MOST_PAIRS]:
        value, _, interval = estimate_text(chance, 2).partition(" ")
        rows.append((first.name, second.name, value, interval))
    about = tr("0.5 means no difference.")
    if len(chances) > _MOST_PAIRS:
        left = len(chances) - _MOST_PAIRS
        more = Text.counted("{n} pair is left out.", "{n} pairs are left out.", n=left)
        about = f"{about} {more}"
    return DataTable(columns=columns, rows=tuple(rows), about=about)
