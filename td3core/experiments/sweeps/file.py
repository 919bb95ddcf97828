"""Reads the file that describes a sweep; reports any mistake in one sentence."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from td3core.config import given, make_settings
from td3core.config.algorithms import fixed_by, unused_by
from td3core.config.presets import compose, load_presets, unknown_preset
from td3core.config.run_config import HIGHEST_SEED
from td3core.config.settings import LR_FINAL, present_name
from td3core.errors import RequestError, brief, in_file, unknown_name, unreadable
from td3core.experiments.sweeps.spec import (
    LARGEST_GRID,
    OBJECTIVES,
    PRUNERS,
    SAMPLERS,
    SET_BY_SWEEP,
    Choices,
    Dimension,
    Range,
    SweepSpec,
    setting_types,
)
from td3core.system.regular_files import parse_toml, read_text
from td3core.text import SettingName, Text

FIELDS = (
    "name",
    "environment",
    "preset",
    "settings",
    "space",
    "objective",
    "trials",
    "seeds",
    "steps",
    "sampler",
    "sampler_seed",
    "pruning",
    "jobs",
    "time_limit_min",
)
RANGE_FIELDS = ("low", "high", "log", "step", "points", "choices")
_MOST_DIMENSIONS, _MOST_CHOICES, _MOST_POINTS = 64, 1_000, 10_000
_FINEST_STEP = 1e-15
"""Smallest step of a range, as a share of its width."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_ENV = "environment"


def read(path: Path, default_name: str, *, begun: bool = False) -> tuple[str, SweepSpec]:
    """Read the file of a sweep; return its text and what it describes, as :func:`parse` does.

    Raises:
        RequestError: with the file, which cannot be read or is refused.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise unreadable(path, problem) from problem
    try:
        return text, parse(text, default_name, begun=begun)
    except RequestError as problem:
        raise in_file(path, problem) from problem


def parse(text: str, default_name: str, *, begun: bool = False) -> SweepSpec:
    """Read the description of a sweep from TOML text.

    Args:
        text: The contents of the file.
        default_name: Name of the sweep if the file gives none, such as the file's own.
        begun: Whether the sweep has begun. An earlier version may have let it begin with a setting
            that is refused now.

    Raises:
        RequestError: with the field, its value and what is allowed.
    """
    try:
        found = parse_toml(text)
    except (ValueError, RecursionError) as problem:
        raise RequestError(
            "This is not a sweep file: {reason}.", reason=brief(problem).rstrip(".")
        ) from problem
    for name in found:
        if name not in FIELDS:
            raise unknown_name("There is no field of a sweep called {name}.", name, FIELDS)
    spec = _spec(found, default_name)
    _check_values(spec)
    if not begun:
        _check_used(spec)
    _check_learning(spec)
    _check_sampler(spec)
    return spec


def _spec(found: Mapping[str, Any], default_name: str) -> SweepSpec:
    if "space" not in found:
        raise RequestError("space is missing; name at least one setting to search.")
    space = {name: _dimension(name, each) for name, each in _table(found, "space").items()}
    if not space or len(space) > _MOST_DIMENSIONS:
        raise RequestError(
            Text.counted(
                "space has {n} setting; it must have 1 to {most}.",
                "space has {n} settings; it must have 1 to {most}.",
                n=len(space),
                most=_MOST_DIMENSIONS,
            )
        )
    settings = _table(found, "settings")
    _check_names(settings, space)
    environment, presets = _environment(found), _presets(found)
    sampler = _choice(found, "sampler", "tpe", SAMPLERS)
    return SweepSpec(
        name=_sweep_name(found, default_name),
        environment=environment,
        presets=presets,
        settings={k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()},
        space=space,
        objective=_choice(found, "objective", "last_eval", OBJECTIVES),
        trials=_trials(found, sampler, space),
        seeds=_seeds(found),
        steps=_steps(found, environment, presets),
        sampler=sampler,
        sampler_seed=_whole(found, "sampler_seed", 0, 0, HIGHEST_SEED),
        pruning=_choice(found, "pruning", "none", PRUNERS),
        jobs=_whole(found, "jobs", 0, 0, 1024),
        time_limit_min=_minutes(found),
    )


# Fields ------------------------------------------------------------------------------------------


def _environment(found: Mapping[str, Any]) -> str:
    if _ENV not in found:
        raise RequestError(
            "environment is missing; name a Gymnasium environment such as Pendulum-v1."
        )
    value = found[_ENV]
    if not isinstance(value, str) or not value.strip():
        raise _refusal(_ENV, value, Text("a Gymnasium environment such as Pendulum-v1"))
    if ":" in value:
        raise RequestError(
            "environment cannot be {value}, which names a module to import; name the module with"
            " --env-module.",
            value=repr(value),
        )
    return value.strip()


def _presets(found: Mapping[str, Any]) -> tuple[str, ...]:
    value = found.get("preset", [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise _refusal("preset", value, Text("the name of a preset, or a list of names"))
    known = load_presets() if names else {}
    for each in names:
        if each not in known:
            raise unknown_preset(each, list(known))
    return tuple(names)


def _steps(found: Mapping[str, Any], environment: str, presets: tuple[str, ...]) -> int:
    known = 0 if "steps" in found else compose(environment, presets, {})[0].steps
    return _whole(found, "steps", known, 1, 10**10)


def _sweep_name(found: Mapping[str, Any], default_name: str) -> str:
    value = found.get("name", re.sub(r"[^A-Za-z0-9_-]+", "-", default_name).strip("-_") or "sweep")
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        allowed = Text("up to 60 letters, digits, hyphens and underscores")
        raise _refusal("name", value, allowed)
    return value


def _seeds(found: Mapping[str, Any]) -> tuple[int, ...]:
    value = found.get("seeds", 1)
    if _is_whole(value) and 1 <= value <= 100:
        return tuple(range(value))
    if isinstance(value, list) and 1 <= len(value) <= 100:
        sound = all(_is_whole(each) and 0 <= each <= HIGHEST_SEED for each in value)
        if sound and len(set(value)) == len(value):
            return tuple(value)
    allowed = Text("the number of seeds per trial, from 1 to 100, or a list of different seeds")
    raise _refusal("seeds", value, allowed)


def _trials(found: Mapping[str, Any], sampler: str, space: Mapping[str, Dimension]) -> int:
    if sampler != "grid":
        return _whole(found, "trials", 20, 1, LARGEST_GRID)
    size = max(1, min(LARGEST_GRID, math.prod(len(each.grid()) for each in space.values())))
    return min(_whole(found, "trials", size, 1, LARGEST_GRID), size)


def _minutes(found: Mapping[str, Any]) -> float:
    value = found.get("time_limit_min", 0)
    if not _is_number(value) or not 0 <= value <= 1e6:
        raise _refusal("time_limit_min", value, Text("minutes from 0 (no limit) to 1,000,000"))
    return float(value)


# The search space --------------------------------------------------------------------------------


def _dimension(name: str, found: Any) -> Dimension:
    if name in SET_BY_SWEEP:
        raise RequestError(
            "space cannot contain {name}; the field {field} of the sweep sets it.",
            name=name,
            field=SET_BY_SWEEP[name],
        )
    types, present = setting_types(), present_name(name)
    if present not in types:
        raise unknown_name("There is no setting called {name}.", name, list(types))
    where = f"space.{name}"
    if not isinstance(found, dict):
        raise _refusal(where, found, Text("a table with low and high, or with choices"))
    for key in found:
        if key not in RANGE_FIELDS:
            raise unknown_name(
                "There is no field of {where} called {name}.", key, RANGE_FIELDS, where=where
            )
    if "choices" in found:
        if len(found) > 1:
            raise RequestError("{where} has choices, so it takes nothing else.", where=where)
        return _choices(name, where, found["choices"])
    return _range(name, where, found, types[present])


def _choices(name: str, where: str, values: Any) -> Choices:
    if not isinstance(values, list) or not 1 <= len(values) <= _MOST_CHOICES:
        raise _refusal(f"{where}.choices", values, Text("a list of 1 to 1,000 values"))
    checked = [_checked(name, value) for value in values]
    for index, value in enumerate(checked):
        if value in checked[:index]:
            raise RequestError(
                "{where}.choices holds {value} twice.", where=where, value=brief(value, 60)
            )
    return Choices(values=tuple(checked))


def _range(name: str, where: str, found: Mapping[str, Any], kind: Any) -> Range:
    if kind not in (int, float):
        raise RequestError(
            "{where} takes no range, because {name} is not a single number; give it choices.",
            where=where,
            name=name,
        )
    for key in ("low", "high"):
        if key not in found:
            raise RequestError(
                "{where}.{key} is missing; give low and high, or choices.", where=where, key=key
            )
        if not _is_number(found[key]):
            raise _refusal(f"{where}.{key}", found[key], Text("a number"))
    low, high = _checked(name, found["low"]), _checked(name, found["high"])
    if low >= high:
        raise RequestError(
            "{where}.low is {low:g}, which is not less than high, {high:g}.",
            where=where,
            low=low,
            high=high,
        )
    log = found.get("log", False)
    if not isinstance(log, bool):
        raise _refusal(f"{where}.log", log, Text("true or false"))
    if log and low <= 0:
        raise RequestError(
            "{where}.low is {low:g}; with log = true it must be greater than 0.",
            where=where,
            low=low,
        )
    step, points = _step(where, found, high - low, kind), _points(where, found)
    if step is not None and (log or points is not None):
        other = "log" if log else "points"
        raise RequestError("{where} takes step or {other}, not both.", where=where, other=other)
    return Range(low=low, high=high, whole=kind is int, log=log, step=step, points=points)


def _step(where: str, found: Mapping[str, Any], width: float, kind: Any) -> float | None:
    if "step" not in found:
        return None
    step = found["step"]
    sound = _is_whole(step) if kind is int else _is_number(step)
    # Finer steps are lost in floating-point rounding.
    least = 1 if kind is int else width * _FINEST_STEP
    if not sound or not least <= step <= width:
        what = "a whole number" if kind is int else "a number"
        allowed = Text(
            "{what} of at least {least:g} and at most {width:g}",
            what=what,
            least=least,
            width=width,
        )
        raise _refusal(f"{where}.step", step, allowed)
    return int(step) if kind is int else float(step)


def _points(where: str, found: Mapping[str, Any]) -> int | None:
    if "points" not in found:
        return None
    points = found["points"]
    if not _is_whole(points) or not 2 <= points <= _MOST_POINTS:
        raise _refusal(f"{where}.points", points, Text("a whole number from 2 to 10,000"))
    return int(points)


# Combinations ------------------------------------------------------------------------------------


def _check_names(settings: Mapping[str, Any], space: Mapping[str, Any]) -> None:
    types = setting_types()
    for name, value in settings.items():
        if name in SET_BY_SWEEP:
            raise RequestError(
                "settings cannot contain {name}; the field {field} of the sweep sets it.",
                name=name,
                field=SET_BY_SWEEP[name],
            )
        if present_name(name) not in types:
            raise unknown_name("There is no setting called {name}.", name, list(types))
        if name in space:
            raise RequestError("{name} is in settings and in space; keep one of them.", name=name)
        _checked(name, value)


def _check_values(spec: SweepSpec) -> None:
    """Build one run of the sweep: presets and settings are checked as for any run."""
    first = {name: spec.values_of(name)[0] for name in spec.space}
    spec.run_settings(first, spec.seeds[0])


def _check_used(spec: SweepSpec) -> None:
    """Refuse to search a setting that no algorithm of the sweep uses, or that they fix."""
    algorithms = spec.values_of("algorithm")
    for name in spec.space:
        if all(
            name in unused_by(each) or name in fixed_by({"algorithm": each}) for each in algorithms
        ):
            raise RequestError(
                "space cannot contain {name}; it makes no difference with {key} {algorithms}.",
                key=SettingName("algorithm"),
                name=name,
                algorithms=", ".join(algorithms),
            )


def _check_learning(spec: SweepSpec) -> None:
    """Refuse runs that never learn, or have no evaluation to judge them by."""
    warm_up = max(spec.values_of("learning_starts"))
    if spec.steps <= warm_up:
        raise RequestError(
            "{key} is {steps}, which is not more than the warm-up, {other} {warm_up}; the"
            " runs would not learn.",
            key=SettingName("steps"),
            other=SettingName("learning_starts"),
            steps=spec.steps,
            warm_up=warm_up,
        )
    for interval in spec.values_of("eval_interval"):
        if not 0 < interval <= spec.steps:
            raise RequestError(
                "objective {objective} needs evaluations: {key} is {interval}, and must be"
                " from 1 to {other}, {steps}.",
                key=SettingName("eval_interval"),
                other=SettingName("steps"),
                objective=spec.objective,
                interval=interval,
                steps=spec.steps,
            )


def _check_sampler(spec: SweepSpec) -> None:
    if spec.sampler == "cmaes":
        ranges = [each for each in spec.space.values() if isinstance(each, Range)]
        if len(ranges) < 2:
            raise RequestError(
                "sampler cmaes needs at least two settings in space that have low and high."
            )
    if spec.sampler != "grid":
        for name, each in spec.space.items():
            if isinstance(each, Range) and each.points is not None:
                raise RequestError(
                    "space.{name}.points is for the sampler grid only; the sampler is {sampler}.",
                    name=name,
                    sampler=spec.sampler,
                )
        return
    for name, each in spec.space.items():
        if not each.grid():
            raise RequestError(
                "sampler grid needs points or step for space.{name}, or choices.", name=name
            )
    size = math.prod(len(each.grid()) for each in spec.space.values())
    if size > LARGEST_GRID:
        raise RequestError(
            "space is a grid of {size} combinations; at most {most} are allowed.",
            size=size,
            most=LARGEST_GRID,
        )


# Values ------------------------------------------------------------------------------------------


def _checked(name: str, value: Any) -> Any:
    """Return a value converted to the type of its setting.

    Raises:
        RequestError: with the setting, the value and what is allowed.
    """
    config, tunables = make_settings({_REQUIRED: "any", name: value})
    if name == LR_FINAL:
        return value
    name = present_name(name)
    return given(config if hasattr(config, name) else tunables, name)


_REQUIRED = "env"


def _table(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name, {})
    if not isinstance(value, dict):
        raise _refusal(name, value, Text("a table of settings"))
    return value


def _choice(found: Mapping[str, Any], name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = found.get(name, default)
    if value not in allowed:
        raise _refusal(name, value, Text("one of {names}", names=", ".join(allowed)))
    return str(value)


def _whole(found: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    value = found.get(name, default)
    # As for every other setting, 2e4 counts as a whole number.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not _is_whole(value) or not low <= value <= high:
        allowed = Text("a whole number from {low} to {high}", low=low, high=high)
        raise _refusal(name, value, allowed)
    return int(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return (_is_whole(value) or isinstance(value, float)) and -1e300 < value < 1e300


def _refusal(name: str, value: Any, allowed: Text) -> RequestError:
    shown = brief(repr(value) if isinstance(value, str) else value, 60)
    return RequestError(
        "{name} cannot be {value}; it must be {allowed}.", name=name, value=shown, allowed=allowed
    )
