"""Writes the tables of settings in the manual from the metadata of the settings.

.venv/bin/python -m tests.settings_table            rewrites the tables
.venv/bin/python -m tests.settings_table --check    exits with 1 if they are out of date
"""

import sys
from pathlib import Path

from td3core.config import RunConfig, Tunables, default, specs

PAGE = Path(__file__).parent.parent / "resources" / "manual" / "settings.md"
BEGIN, END = "<!-- settings -->\n", "<!-- /settings -->"


def tables() -> str:
    """Return two tables as Markdown, for live settings and for others."""
    parts = ("## Live settings", _table(Tunables), "## Fixed settings", _table(RunConfig))
    return "\n" + "\n".join(parts) + "\n"


def _table(settings: type[Tunables] | type[RunConfig]) -> str:
    lines = ["", "| name | in the window | default | allowed | meaning |", "|---|---|---|---|---|"]
    for name, spec in specs(settings):
        called = f"`{name}` {spec.symbol}"
        usual = default(name)
        shown = spec.lowest if spec.lowest and usual == spec.low else _shown(usual)
        cells = (called, str(spec.label), f"{shown} {spec.unit}", spec.allowed, str(spec.help))
        lines.append("| " + " | ".join(cell.strip() for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def with_tables(text: str) -> str:
    """Return the page with fresh tables.

    Raises:
        ValueError: it lacks the marks around the tables.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks {BEGIN.strip()} or {END}")
    return before + BEGIN + tables() + END + after


def main() -> int:
    """Rewrite or check; return the exit status."""
    text = PAGE.read_text("utf-8")
    if "--check" in sys.argv:
        if with_tables(text) != text:
            print(f"{PAGE.name}: the tables are out of date; run python -m tests.settings_table")
            return 1
        return 0
    PAGE.write_text(with_tables(text), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
