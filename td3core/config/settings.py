"""Looks up, converts and checks the settings of a run.

:class:`RunConfig` and :class:`Tunables` declare each setting once, with its metadata. The form, the
checks, ``--set``, the tooltips and the table in ``resources/manual/settings.md`` all read that
metadata through this module.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, replace
from functools import cache, lru_cache
from typing import Any, TypeVar

from td3core.config import piecewise
from td3core.config.algorithms import ALGORITHMS, entry_of, fixed_by
from td3core.config.piecewise import PiecewiseSchedule
from td3core.config.run_config import COMPILED, RunConfig
from td3core.config.spec import (
    Spec,
    checked_number,
    parse_text,
    setting,
    setting_fields,
    spec_of,
    type_words_of,
)
from td3core.config.tunables import Tunables
from td3core.config.value_text import value_words
from td3core.errors import RequestError, newer, unknown_name
from td3core.text import NO_TEXT, SettingName, Text

Settings = RunConfig | Tunables
LiveT = TypeVar("LiveT", bound=Tunables)

LR_FINAL = "lr_final"
"""A setting of earlier versions: final learning rates as a fraction of the initial ones."""
RATES = ("actor_lr", "critic_lr")
"""The settings that are learning rates."""
_LABELS = {"seeds": Text("Seeds")}
"""Labels of inputs that are not settings of a run."""
_RENAMED = {"eval_beside": "background_evaluation"}
"""Former names of settings, which files, scripts and ``--set`` may still use."""


def spec(settings: Settings | type[Settings], name: str) -> Spec:
    """Return the metadata of the setting ``name``.

    Raises:
        KeyError: there is no such setting.
    """
    for item in setting_fields(settings):
        if item.name == name:
            return spec_of(item)
    raise KeyError(name)


def specs(settings: Settings | type[Settings]) -> Iterator[tuple[str, Spec]]:
    """Yield name and metadata of every setting, in the order of declaration."""
    for item in setting_fields(settings):
        yield item.name, spec_of(item)


def label_of(name: str) -> str:
    """Return a setting's label in the window; return other names unchanged."""
    known = _all_fields() | {LR_FINAL: _LR_FINAL_FIELD}
    return str(spec_of(known[name]).label if name in known else _LABELS.get(name, name))


def sign_of(name: str) -> str:
    """Return a setting's short label, for limited space: its symbol or label."""
    return str(spec_of(_all_fields()[name]).sign) if name in _all_fields() else name


def setting_words(name: str, value: Any) -> Text | str:
    """Return the value of a setting as :func:`value_words`, or the word for a special value."""
    return special_word(name, value) or value_words(value)


def special_word(name: str, value: Any) -> Text:
    """Return the word for a special value of a setting, such as off; else empty."""
    known = _all_fields()
    return spec_of(known[name]).word(value) if name in known else NO_TEXT


def default(name: str) -> Any:
    """Return the default value of the setting ``name``; ``None`` if it has none."""
    value = _all_fields()[name].default
    return None if value is MISSING else value


def nearest(name: str, value: Any) -> Any:
    """Return a value clamped to the range of a numeric setting; the default if it is not one."""
    item = _all_fields()[name]
    try:
        return checked_number(item, value)
    except RequestError:
        low, high = spec_of(item).low, spec_of(item).high
        if not isinstance(value, int | float) or low <= value <= high or value != value:
            return default(name)
        return checked_number(item, low if value < low else high)


def changes(old: Tunables, new: Tunables) -> list[tuple[str, Any, Any]]:
    """Return (name, old value, new value) of every setting that differs."""
    pairs = ((name, given(old, name), given(new, name)) for name, _ in specs(old))
    return [(name, before, after) for name, before, after in pairs if before != after]


def given(settings: Settings, name: str) -> Any:
    """Return a setting as given: its value, or the text of the schedule it follows."""
    followed = dict(settings.schedules) if isinstance(settings, Tunables) else {}
    return followed.get(name, getattr(settings, name))


def all_given(config: RunConfig, tunables: Tunables) -> dict[str, Any]:
    """Return every setting by name, as :func:`given`."""
    return {name: given(each, name) for each in (config, tunables) for name, _ in specs(each)}


def with_values(tunables: LiveT, values: Mapping[str, Any]) -> LiveT:
    """Return live settings with other values.

    A value ends the schedule that its setting follows; text begins one.

    Raises:
        RequestError: a value is not allowed.
    """
    kept = tuple(each for each in tunables.schedules if each[0] not in values)
    return replace(tunables, schedules=kept, **values)


def follows(tunables: Tunables, name: str) -> bool:
    """Return whether a setting follows a schedule."""
    return any(followed == name for followed, _ in tunables.schedules)


def schedule_of(tunables: Tunables, name: str) -> PiecewiseSchedule | None:
    """Return the schedule that a setting follows; None if it follows none."""
    kind: Any = type(tunables)
    return dict(_followed(kind, tunables.schedules)).get(name)


def at_step(tunables: LiveT, step: int, steps: int) -> LiveT:
    """Return live settings with the values in force during step ``step`` of a run of ``steps``.

    Returns the same object if no value changes.
    """
    if not tunables.schedules:
        return tunables
    kind: Any = type(tunables)
    values = {}
    for name, schedule in _followed(kind, tunables.schedules):
        value = schedule.at(step, steps)
        if value != getattr(tunables, name):
            values[name] = value
    if not values:
        return tunables
    # Called at every step: dataclasses.replace validates all fields and takes ten times as long.
    moved: LiveT = object.__new__(kind)
    for name in _names(kind):
        value = values[name] if name in values else getattr(tunables, name)
        object.__setattr__(moved, name, value)
    return moved


def pinned(tunables: LiveT, steps: int) -> LiveT:
    """Return live settings whose schedules have steps in place of percentages of ``steps``.

    They then do not change with the length of the run.
    """
    kind: Any = type(tunables)
    followed = _followed(kind, tunables.schedules)
    return replace(tunables, schedules=tuple((n, each.pinned(steps)) for n, each in followed))


def values_of(tunables: Tunables, name: str) -> tuple[Any, ...]:
    """Return the values of a setting: of each point of its schedule, or its single value."""
    schedule = schedule_of(tunables, name)
    return schedule.values if schedule is not None else (getattr(tunables, name),)


@cache
def _names(kind: type[Tunables]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


@lru_cache(256)
def _followed(
    kind: type[Tunables], schedules: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, PiecewiseSchedule], ...]:
    known = {item.name: item for item in setting_fields(kind)}
    return tuple((name, piecewise.parse(known[name], text)) for name, text in schedules)


def make_settings(values: Mapping[str, Any]) -> tuple[RunConfig, Tunables]:
    """Check ``values`` and sort them into a configuration and tunables.

    Missing settings take the value that their algorithm fixes, or their default. If a setting is
    given by both its current and its former name, the later entry wins.

    Raises:
        RequestError: a name is unknown, or a value has the wrong type or is out of range.
    """
    live, known = {name for name, _ in specs(Tunables)}, _all_fields()
    values = by_present_names(values)
    final = values.pop(LR_FINAL, None)
    for name in values:
        if name not in known:
            raise unknown_name("There is no setting called {name}.", name, list(known))
    if "env" not in values:
        raise RequestError(
            "{key} is missing; name a Gymnasium environment such as Pendulum-v1.",
            key=SettingName("env"),
        )
    values = {**fixed_by(values), **values}
    if final is not None:
        values |= _falling(values, checked_number(_LR_FINAL_FIELD, final))
    config = RunConfig(**{k: v for k, v in values.items() if k not in live})
    return config, Tunables(**{k: v for k, v in values.items() if k in live})


def recorded_settings(record: Mapping[str, Any]) -> tuple[RunConfig, Tunables]:
    """Return the settings in a record that this program wrote: its ``config`` and ``tunables``.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: the record is damaged, or of a newer
            version.
    """
    values = {**record["config"], **record["tunables"]}
    known = _all_fields().keys() | {LR_FINAL}
    for name in values:
        if present_name(name) not in known:
            raise newer(name)
    return make_settings(values)


def by_present_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` with former names of settings replaced; the later of two entries wins."""
    return {present_name(name): value for name, value in values.items()}


def present_name(name: str) -> str:
    """Return the name of a setting that may be given by its former one."""
    return _RENAMED.get(name, name)


def merged(before: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``before`` updated with ``values``; ``lr_final`` replaces learning rate schedules."""
    found = dict(before)
    if LR_FINAL in values:
        for name in RATES:
            if isinstance(found.get(name), str):
                found[name] = getattr(Tunables(**{name: found[name]}), name)
    return found | dict(values)


def names_set_by(values: Mapping[str, Any]) -> set[str]:
    """Return the settings that ``values`` set; ``lr_final`` sets both learning rates."""
    names = set(by_present_names(values))
    return names - {LR_FINAL} | set(RATES) if LR_FINAL in names else names


def _falling(values: Mapping[str, Any], share: float) -> dict[str, str]:
    """Return schedules by which both rates fall to the fraction ``share`` at the last step."""
    rates = {name: values.get(name, default(name)) for name in RATES}
    return {
        name: f"{rate!r}@0, x{share!r}@100%"
        for name, rate in rates.items()
        if share < 1.0 and isinstance(rate, int | float) and not isinstance(rate, bool)
    }


def title_of(config: RunConfig, tunables: Tunables) -> str:
    """Return the title of the effective algorithm: TD3 without its tricks is DDPG."""
    chosen = entry_of(config.algorithm)
    for entry in ALGORITHMS.values():
        same = entry.agent == chosen.agent
        if same and entry.fixed and not entry.differing(config, tunables):
            return entry.title
    return chosen.title


def check_together(config: RunConfig, tunables: Tunables) -> None:
    """Refuse settings that are valid individually, but not in combination.

    Called before a run starts and before a live change, but not for files, which must stay
    readable.

    Raises:
        RequestError: two settings are incompatible; the message gives their values.
    """
    batch_size = max(values_of(tunables, "batch_size"))
    if batch_size > config.buffer_size:
        raise RequestError(
            "{key} {batch_size} is larger than {other} {buffer_size}.",
            key=SettingName("batch_size"),
            other=SettingName("buffer_size"),
            batch_size=batch_size,
            buffer_size=config.buffer_size,
        )
    dropped = max(values_of(tunables, "dropped_quantiles"))
    if dropped >= config.quantiles and "quantiles" in entry_of(config.algorithm).own:
        raise RequestError(
            "{key} {dropped} leaves none of {other} {quantiles}.",
            key=SettingName("dropped_quantiles"),
            other=SettingName("quantiles"),
            dropped=dropped,
            quantiles=config.quantiles,
        )
    differing = entry_of(config.algorithm).differing(config, tunables)
    followed = [
        (name, value)
        for name, value in entry_of(config.algorithm).fixed
        if name in dict(tunables.schedules) and set(values_of(tunables, name)) != {value}
    ]
    for name, value in differing + followed:
        raise RequestError(
            "{name} must be {value} with algorithm {algorithm}.",
            name=SettingName(name),
            value=value_words(value),
            algorithm=config.algorithm,
        )
    if config.env_processes > config.num_envs:
        raise RequestError(
            "{key} {env_processes} is larger than {other} {num_envs}; each process needs"
            " an environment to step.",
            key=SettingName("env_processes"),
            other=SettingName("num_envs"),
            env_processes=config.env_processes,
            num_envs=config.num_envs,
        )
    if config.engine == COMPILED and config.device != "cpu":
        raise RequestError(
            "{key} compiled needs {other} cpu, not {device}; torch computes on GPUs.",
            key=SettingName("engine"),
            other=SettingName("device"),
            device=config.device,
        )
    if config.num_envs > config.buffer_size:
        raise RequestError(
            "{key} {num_envs} is larger than {other} {buffer_size}; a single step of all"
            " environments would overwrite its own transitions.",
            key=SettingName("num_envs"),
            other=SettingName("buffer_size"),
            num_envs=config.num_envs,
            buffer_size=config.buffer_size,
        )
    if config.num_envs > config.steps:
        raise RequestError(
            "{key} {num_envs} is larger than {other} {steps}; a single step of all environments"
            " would exceed the run.",
            key=SettingName("num_envs"),
            other=SettingName("steps"),
            num_envs=config.num_envs,
            steps=config.steps,
        )


def to_dict(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain values for JSON and TOML; tuples become lists."""
    values = {item.name: given(settings, item.name) for item in setting_fields(settings)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def parse_value(name: str, text: str) -> Any:
    """Convert the text of ``--set name=text`` or of a form to a value of the setting's type.

    Raises:
        RequestError: the name is unknown or the text is not a value of its type.
    """
    name = present_name(name)
    if name == LR_FINAL:
        return parse_text(_LR_FINAL_FIELD, text)
    if name not in _all_fields():
        raise unknown_name("There is no setting called {name}.", name, list(_all_fields()))
    item = _all_fields()[name]
    if name in _names(Tunables) and piecewise.is_schedule(item, text):
        return piecewise.parse(item, text).text
    return parse_text(item, text)


def type_words(name: str) -> Text:
    """Describe the values that the setting ``name`` takes: their type and range."""
    return type_words_of(_all_fields()[name])


def _all_fields() -> dict[str, Field[Any]]:
    return _fields_of(RunConfig, Tunables)


@cache
def _fields_of(*kinds: type[Settings]) -> dict[str, Field[Any]]:
    return {item.name: item for kind in kinds for item in setting_fields(kind)}


@dataclass(frozen=True)
class _Earlier:
    """Settings of earlier versions that can still be read."""

    lr_final: float = setting(
        1.0, low=0.0, high=1.0, label=Text("Final learning rate"), help=NO_TEXT
    )


(_LR_FINAL_FIELD,) = setting_fields(_Earlier)
