"""Formats durations, step counts, sizes and values of settings."""

import math


def format_duration(seconds: float) -> str:
    """Format a duration: 45 s, 6 min, 2 h 10 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def format_minutes(seconds: float) -> str:
    """Format an estimate: less than a minute, about 3 minutes, about 2 h 10 min."""
    if seconds < 50:
        return "less than a minute"
    minutes = max(round(seconds / 60), 1)
    if minutes >= 90:
        return f"about {format_duration(seconds)}"
    return f"about {minutes} minute{'' if minutes == 1 else 's'}"


def short_steps(steps: int) -> str:
    """Format a number of steps: 512, 50k, 1.25M."""
    if steps < 1_000:
        return str(steps)
    return f"{steps / 1_000:g}k" if steps < 1_000_000 else f"{steps / 1_000_000:g}M"


def format_size(size: float) -> str:
    """Format a size in bytes: 340 kB, 12 MB, 1.5 GB."""
    units = ("bytes", "kB", "MB", "GB", "TB")
    power = 0
    while size >= 999.5 and power < len(units) - 1:
        size, power = size / 1000, power + 1
    digits = 1 if power > 2 and size < 99.5 else 0
    return f"{size:.{digits}f} {units[power]}"


def format_number(value: float) -> str:
    """Format a measured value in four digits: -207.1, 0.003214, 12,340 or 1.2e-07."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else f"{value}"
    if 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def format_return(value: float | None) -> str:
    """Format a return: -207.1, 1,234.5; empty without one."""
    return "" if value is None else f"{value:,.1f}"


def format_value(value: bool | float | str) -> str:
    """Format the value of a live setting: on, 0.005, relu."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else f"{value:g}"
