"""Writes the table of settings in the manual from the metadata of the settings.

.venv/bin/python -m tests.settings_table            rewrites the table
.venv/bin/python -m tests.settings_table --check    exits with 1 if it is out of date
"""

import sys
from pathlib import Path

from td3core.config import RunConfig, Tunables, default, specs

PAGE = Path(__file__).parent.parent / "resources" / "manual" / "settings.md"
BEGIN, END = "<!-- settings -->\n", "<!-- /settings -->"


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| name | symbol | default | allowed | live | meaning |", "|---|---|---|---|---|---|"]
    for settings, live in ((Tunables, "yes"), (RunConfig, "")):
        for name, spec in specs(settings):
            value = default(name)
            shown = _shown(value)
            unit = f" {spec.unit}" if spec.unit else ""
            cells = (f"`{name}`", spec.symbol, shown + unit, spec.allowed, live, spec.help)
            lines.append("| " + " | ".join(str(cell).strip() for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def with_table(text: str) -> str:
    """Return the page with a fresh table.

    Raises:
        ValueError: it lacks the marks the table stands between.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks {BEGIN.strip()} or {END}")
    return before + BEGIN + table() + END + after


def main() -> int:
    """Rewrite or check; return the exit status."""
    text = PAGE.read_text("utf-8")
    if "--check" in sys.argv:
        if with_table(text) != text:
            print(f"{PAGE.name}: the table is out of date; run python -m tests.settings_table")
            return 1
        return 0
    PAGE.write_text(with_table(text), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
