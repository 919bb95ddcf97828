"""Looking up, converting and checking the settings that a run is made of.

:class:`RunConfig` and :class:`Tunables` declare each setting once, with its metadata. The form, the
checks, ``--set``, the tooltips and the README's table all read that metadata through this module.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from td3core.config.algorithms import ALGORITHMS, entry_of, fixed_by
from td3core.config.run_config import COMPILED, RunConfig
from td3core.config.spec import Spec, parse_text, spec_of, type_words_of
from td3core.config.tunables import Tunables
from td3core.config.value_text import format_value
from td3core.errors import RequestError, unknown_name
from td3core.text import Text

Settings = RunConfig | Tunables

_RENAMED = {"eval_beside": "background_evaluation"}
"""Names of earlier versions: files, scripts and ``--set`` may still use them."""


def spec(settings: Settings | type[Settings], name: str) -> Spec:
    """Return the metadata of the setting ``name``.

    Raises:
        KeyError: there is none.
    """
    for item in fields(settings):
        if item.name == name:
            return spec_of(item)
    raise KeyError(name)


def specs(settings: Settings | type[Settings]) -> Iterator[tuple[str, Spec]]:
    """Yield name and metadata of every setting, in the order of declaration."""
    for item in fields(settings):
        yield item.name, spec_of(item)


def default(name: str) -> Any:
    """Return the default value of the setting ``name``; ``None`` if it has none."""
    value = _all_fields()[name].default
    return None if value is MISSING else value


def changes(old: Tunables, new: Tunables) -> list[tuple[str, Any, Any]]:
    """Return (name, old value, new value) of every setting that differs."""
    pairs = ((name, getattr(old, name), getattr(new, name)) for name, _ in specs(old))
    return [(name, before, after) for name, before, after in pairs if before != after]


def make_settings(values: Mapping[str, Any]) -> tuple[RunConfig, Tunables]:
    """Check ``values`` and sort them into a configuration and tunables.

    Those that are missing take the value that their algorithm fixes, or their default. Of a setting
    that is given by its name and by that of an earlier version, the later entry counts.

    Raises:
        RequestError: a name is unknown, or a value has the wrong type or is out of range.
    """
    live, known = {name for name, _ in specs(Tunables)}, _all_fields()
    values = {_RENAMED.get(name, name): value for name, value in values.items()}
    for name in values:
        if name not in known:
            raise unknown_name("setting", name, list(known))
    if "env" not in values:
        raise RequestError("env is missing; name a Gymnasium environment such as Pendulum-v1.")
    values = {**fixed_by(values), **values}
    config = RunConfig(**{k: v for k, v in values.items() if k not in live})
    return config, Tunables(**{k: v for k, v in values.items() if k in live})


def title_of(config: RunConfig, tunables: Tunables) -> str:
    """Return what to call the algorithm that settings amount to: TD3 without its tricks is DDPG."""
    chosen = entry_of(config.algorithm)
    for entry in ALGORITHMS.values():
        same = entry.agent == chosen.agent
        if same and entry.fixed and not entry.differing(config, tunables):
            return entry.title
    return chosen.title


def check_together(config: RunConfig, tunables: Tunables) -> None:
    """Refuse settings that are each allowed but make no sense together.

    Called before a run starts and before a live change, but not for files, which must stay
    readable.

    Raises:
        RequestError: with the two settings and their values.
    """
    if tunables.batch_size > config.buffer_size:
        raise RequestError(
            "batch_size {batch_size} is larger than buffer_size {buffer_size}.",
            batch_size=tunables.batch_size,
            buffer_size=config.buffer_size,
        )
    for name, value in entry_of(config.algorithm).differing(config, tunables):
        raise RequestError(
            "{name} must be {value} with algorithm {algorithm}.",
            name=name,
            value=format_value(value),
            algorithm=config.algorithm,
        )
    if config.env_processes > config.num_envs:
        raise RequestError(
            "env_processes {env_processes} is larger than num_envs {num_envs}; each process needs"
            " an environment to step.",
            env_processes=config.env_processes,
            num_envs=config.num_envs,
        )
    if config.engine == COMPILED and config.device != "cpu":
        raise RequestError(
            "engine compiled needs device cpu, not {device}; torch computes on GPUs.",
            device=config.device,
        )
    if config.num_envs > config.buffer_size:
        raise RequestError(
            "num_envs {num_envs} is larger than buffer_size {buffer_size}; a single step of all"
            " environments would overwrite its own transitions.",
            num_envs=config.num_envs,
            buffer_size=config.buffer_size,
        )
    if config.num_envs > config.steps:
        raise RequestError(
            "num_envs {num_envs} is larger than steps {steps}; a single step of all environments"
            " would exceed the run.",
            num_envs=config.num_envs,
            steps=config.steps,
        )


def to_dict(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain values for JSON and TOML; tuples become lists."""
    values = {item.name: getattr(settings, item.name) for item in fields(settings)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def parse_value(name: str, text: str) -> Any:
    """Convert the text of ``--set name=text`` or of a form to a value of the setting's type.

    Raises:
        RequestError: the name is unknown or the text is not a value of its type.
    """
    name = _RENAMED.get(name, name)
    if name not in _all_fields():
        raise unknown_name("setting", name, list(_all_fields()))
    return parse_text(_all_fields()[name], text)


def type_words(name: str) -> Text:
    """Describe the values that the setting ``name`` takes: their type and range."""
    return type_words_of(_all_fields()[name])


def _all_fields() -> dict[str, Field[Any]]:
    return {item.name: item for cls in (RunConfig, Tunables) for item in fields(cls)}
