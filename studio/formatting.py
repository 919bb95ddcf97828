"""Numbers as text for the window: counts, returns, durations, sizes, settings.

What the terminal writes alike is in ``td3core/config/value_text.py``; the window imports it from
here.

Counts have thousands separators, returns one decimal, other measured values four significant
digits. Negative numbers have a minus sign, not a hyphen: to copy, type or parse them, use
``plain_minus``.
"""

import math
from typing import Any

from td3core.config.spec import Spec
from td3core.config.value_text import about_steps as about_steps
from td3core.config.value_text import format_count as format_count
from td3core.config.value_text import format_duration as format_duration
from td3core.config.value_text import format_share as format_share
from td3core.config.value_text import plain_minus as plain_minus
from td3core.config.value_text import plain_return as plain_return
from td3core.config.value_text import typed as typed
from td3core.config.value_text import typographic as typographic
from td3core.config.value_text import value_words, with_letter
from td3core.protocol import wording
from td3core.protocol.run_status import RunStatus
from td3core.text import Text, tr


def format_state(state: RunStatus) -> str:
    """Return the name of a run's state."""
    return str(wording.STATES[state])


def format_minutes(seconds: float) -> str:
    """Format an estimate: less than a minute, about 3 minutes, about 2 h 10 min."""
    if seconds < 50:
        return tr("less than a minute")
    minutes = max(round(seconds / 60), 1)
    if minutes >= 90:
        return tr("about {duration}", duration=format_duration(seconds))
    return str(Text.counted("about {n} minute", "about {n} minutes", n=minutes))


def short_steps(steps: int) -> str:
    """Format a number of steps: 512, 50k, 1.25M; 44,862 if a letter would save nothing."""
    if steps < 1_000 or steps % (100 if steps < 1_000_000 else 10_000):
        return format_count(steps)
    return with_letter(steps)


def format_size(size: float) -> str:
    """Format a size in bytes: 340 kB, 12 MB, 1.5 GB."""
    units = (tr("bytes"), tr("kB"), tr("MB"), tr("GB"), tr("TB"))
    power = 0
    while size >= 999.5 and power < len(units) - 1:
        size, power = size / 1000, power + 1
    digits = 1 if power > 2 and size < 99.5 else 0
    return f"{size:.{digits}f} {units[power]}"


def format_number(value: float) -> str:
    """Format a measured value in four significant digits: −207.1, 0.003214, 1,234 or 1.2e−07."""
    if math.isnan(value):
        return ""
    # From 999.95 on, four digits show no decimals.
    return typographic(f"{value:,.0f}" if 999.95 <= abs(value) < 1e9 else f"{value:.4g}")


def format_tick(value: float) -> str:
    """Format a value in three significant digits, for small spaces: −0.25, 12.4, 1,230, 1.2e+06."""
    shown = f"{value:.3g}"
    return typographic(f"{float(shown):,.0f}" if 999.5 <= abs(value) < 999_500 else shown)


def format_return(value: float | None, spread: float | None = None) -> str:
    """Format a return, perhaps with its spread: −207.1, 1,234.5 ± 9.0; empty without one."""
    if value is None:
        return ""
    text = plain_return(value)
    return typographic(text if spread is None else f"{text} ± {plain_return(spread)}")


def format_value(value: Any) -> str:
    """Format the value of a setting: on, −0.005, 300,000, relu, 64, 64. A text stays as it is."""
    text = str(value_words(value))
    return text if isinstance(value, str) else typographic(text)


def format_setting(spec: Spec, value: Any) -> str:
    """Format the value of a known setting, which may have a word for zero or for no limit."""
    return str(spec.word(value)) or format_value(value)
