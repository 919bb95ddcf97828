"""Formats durations, step counts, sizes and values of settings."""


def format_duration(seconds: float) -> str:
    """Format a duration: 45 s, 6 min, 2 h 10 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


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


def format_value(value: bool | float | str) -> str:
    """Format the value of a live setting: on, 0.005, relu."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else f"{value:g}"
