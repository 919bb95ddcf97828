"""The results section: the numbers with their intervals."""

from td3core.analysis.aggregate import Estimate
from td3core.analysis.comparison import Comparison, GroupResult, improvements
from td3core.analysis.figure_data import return_label
from td3core.analysis.wording import DEVIATION_ABOUT, decimals_of, estimate_text, metric_title
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
_RETURNS = ("eval", "return")
"""The metrics of which more is better."""


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
    numbers = _finals(found)
    summaries = [run.summary for run in found.runs.values()]
    steps = sum(each.own_steps for each in summaries)
    wall = sum(each.wall_s for each in summaries)
    about = tr("Steps trained") if found.single else tr("Steps trained, all runs")
    detail = tr("in {duration}", duration=format_duration(wall)) if wall else ""
    numbers.append(KeyNumber(about=about, value=format_count(steps), detail=detail))
    state, detail = state_of_runs(summaries)
    numbers.append(KeyNumber(about=tr("State"), value=state, detail=detail))
    return KeyNumbers(numbers=tuple(numbers))


def _finals(found: Material) -> list[KeyNumber]:
    """Return the final value of the only group; of several the highest, if it is the best."""
    comparison = found.comparison
    groups, metric = comparison.groups, comparison.metric
    known = [(each.final.value, each) for each in groups if each.final is not None]
    if not known or len({each.group.env for each in groups}) > 1:
        return []
    _, top = max(known, key=lambda pair: pair[0])
    value, interval = _texts(top.final, comparison)
    if len(groups) > 1:
        if metric not in _RETURNS:
            return []
        detail = f"{top.name}  {interval}".strip()
        return [KeyNumber(about=tr("Highest final return"), value=value, detail=detail)]
    is_return = metric in _RETURNS
    about = tr("Final return") if is_return else tr("{metric}, final", metric=return_label(metric))
    numbers = [KeyNumber(about=about, value=value, detail=interval)]
    if found.single and top.best is not None:
        numbers.append(KeyNumber(about=tr("Best return"), value=_texts(top.best, comparison)[0]))
    return numbers


def _texts(found: Estimate | None, comparison: Comparison) -> tuple[str, str]:
    """Return a value and its interval, which is empty if there is none."""
    text = estimate_text(found, decimals_of(comparison.metric))
    value, _, interval = typographic(text).partition(" ")
    return value, interval


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
    return DataTable(columns=columns, rows=rows, about=str(metric_title(comparison.metric)))


def _row(place: int, each: GroupResult, comparison: Comparison) -> tuple[str | Cell, ...]:
    numbers = list[str]()
    for found in (each.final, each.deviation or each.best):
        numbers += _texts(found, comparison)
    name = Cell(text=each.name, place=place if place < MOST_LINES else None)
    return (name, str(len(each.finals)), *numbers)


def _about(comparison: Comparison) -> str:
    what = {
        "eval": Text("evaluations: a tenth of them, at most 10"),
        "return": Text("training episodes: a tenth of them, at most 100"),
        "bias": Text("evaluations that measured it"),
    }
    about = Text(
        "Final: of each run the mean of its last {what}; then the interquartile mean over the"
        " runs. In brackets its 95 % bootstrap interval, as in Agarwal et al. 2021.",
        what=what.get(comparison.metric, what["return"]),
    )
    if comparison.metric == "bias":
        return f"{about} {tr('Deviation: {about}', about=DEVIATION_ABOUT)}"
    if comparison.metric in _RETURNS:
        too_high = tr("The best of many noisy values is too high: judge by the final one.")
        return f"{about} {too_high}"
    return str(about)


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
