"""Position of a setting's value on its slider."""

import math

from td3core.config.spec import Spec


def to_slider(spec: Spec, value: float, ticks: int) -> int:
    """Return the slider position, 0 to ``ticks``, of a value; 0 means off."""
    low, high = _stretched(spec, spec.slider_range[0]), _stretched(spec, spec.slider_range[1])
    share = (_stretched(spec, value) - low) / (high - low)
    position = round(min(max(share, 0.0), 1.0) * ticks)
    return max(position, 1) if spec.lowest and value > spec.low else position


def from_slider(spec: Spec, position: int, ticks: int) -> float:
    """Return the value at a slider position, rounded to about a thousandth of the range."""
    if spec.lowest and not position:
        return spec.low
    if position in (0, ticks):
        return float(spec.slider_range[bool(position)])
    low, high = _stretched(spec, spec.slider_range[0]), _stretched(spec, spec.slider_range[1])
    at = low + (high - low) * position / ticks
    if spec.scale == "log":
        return float(f"{10**at:.3g}")
    if spec.scale == "complement":
        return 1.0 - float(f"{10**-at:.3g}")
    return round(at, 3 - math.floor(math.log10(high - low)))


def is_beyond(spec: Spec, value: float) -> bool:
    """Return whether no slider could show a value, unless that is *off*."""
    low, high = spec.slider_range
    if math.isinf(high - low):
        return True
    return not low <= value <= high and not (spec.lowest and value <= spec.low)


def stepped_beyond(spec: Spec, value: float, steps: int) -> float:
    """Return a value that no slider could show after steps of about a hundredth of its size."""
    low, high = spec.slider_range
    origin = 1.0 if spec.scale == "complement" else 0.0
    size = float(f"{abs(value - origin) / 100:.1g}")
    if size:
        return float(f"{value + steps * size:.12g}")
    if math.isinf(high - low):
        return steps / 100
    # Without a size it can only go to the slider.
    return low if value < low and steps > 0 else high if value > high and steps < 0 else value


def _stretched(spec: Spec, value: float) -> float:
    """Map a value to the scale on which the slider is linear."""
    if spec.scale == "log":
        return math.log10(max(value, spec.slider_range[0]))
    if spec.scale == "complement":
        return -math.log10(max(1.0 - value, 1.0 - spec.slider_range[1]))
    return value
