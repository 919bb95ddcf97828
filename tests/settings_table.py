"""Writes the settings table of the README from the metadata of the settings.

.venv/bin/python tests/settings_table.py            rewrites the table
.venv/bin/python tests/settings_table.py --check    says whether it is up to date
"""

import sys
from pathlib import Path

from td3core.config import RunConfig, Tunables, default, specs

README = Path(__file__).parent.parent / "README.md"
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
    """Return the README with a fresh table in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def main() -> int:
    """Rewrite or check; return the exit status."""
    text = README.read_text("utf-8")
    if "--check" in sys.argv:
        if with_table(text) != text:
            print("README.md: the settings table is out of date; run tests/settings_table.py")
            return 1
        return 0
    README.write_text(with_table(text), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
