"""Looking up, converting and checking the settings that a run is made of.

:class:`RunConfig` and :class:`Tunables` declare each setting once, with its metadata. The form, the
checks, ``--set``, the tooltips and the README's table all read that metadata through this module.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from td3core.config.run_config import RunConfig
from td3core.config.spec import Spec, parse_text, spec_of, type_words_of
from td3core.config.tunables import Tunables
from td3core.errors import RequestError, unknown_name

Settings = RunConfig | Tunables


def spec(settings: Settings | type[Settings], name: str) -> Spec:
    """Return what is known about the setting ``name``."""
    for item in fields(settings):
        if item.name == name:
            return spec_of(item)
    raise KeyError(name)


def specs(settings: Settings | type[Settings]) -> Iterator[tuple[str, Spec]]:
    """Yield name and metadata of every setting, in the order of declaration."""
    for item in fields(settings):
        yield item.name, spec_of(item)


def default(name: str) -> Any:
    """Return the default value of the setting ``name`` (``None`` if it has to be given)."""
    value = _all_fields()[name].default
    return None if value is MISSING else value


def changes(old: Tunables, new: Tunables) -> list[tuple[str, Any, Any]]:
    """Return (name, old value, new value) of every setting that differs."""
    pairs = ((name, getattr(old, name), getattr(new, name)) for name, _ in specs(Tunables))
    return [(name, before, after) for name, before, after in pairs if before != after]


def make_settings(values: Mapping[str, Any]) -> tuple[RunConfig, Tunables]:
    """Sort flat ``values`` into a configuration and its tunables; every one is checked.

    Raises:
        RequestError: a name is unknown, or a value has the wrong type or is out of range.
    """
    live = {name for name, _ in specs(Tunables)}
    for name in values:
        if name not in _all_fields():
            raise unknown_name("setting", name, list(_all_fields()))
    if "env" not in values:
        raise RequestError("env is missing; name a Gymnasium environment such as Pendulum-v1.")
    config = RunConfig(**{k: v for k, v in values.items() if k not in live})
    return config, Tunables(**{k: v for k, v in values.items() if k in live})


def check_together(config: RunConfig, tunables: Tunables) -> None:
    """Refuse combinations of settings that are each allowed but make no sense together.

    Asked before a run starts and before a live change; never of a file, which has to open.
    """
    if tunables.batch_size > config.buffer_size:
        raise RequestError(
            f"batch_size {tunables.batch_size} is larger than buffer_size {config.buffer_size}."
        )
    if config.env_processes > config.num_envs:
        raise RequestError(
            f"env_processes {config.env_processes} is larger than num_envs {config.num_envs}; each"
            " process needs an environment to step."
        )
    for name, why in (
        ("buffer_size", "one step of all would overwrite its own transitions"),
        ("steps", "one step of all would be longer than the run"),
    ):
        if config.num_envs > getattr(config, name):
            raise RequestError(
                f"num_envs {config.num_envs} is larger than {name} {getattr(config, name)}; {why}."
            )


def to_dict(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain values that JSON and TOML can hold (tuples become lists)."""
    values = {item.name: getattr(settings, item.name) for item in fields(settings)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def parse_value(name: str, text: str) -> Any:
    """Turn the text of ``--set name=text`` or of a form into a value of the setting's type.

    Raises:
        RequestError: the name is unknown or the text is not a value of its type.
    """
    if name not in _all_fields():
        raise unknown_name("setting", name, list(_all_fields()))
    return parse_text(_all_fields()[name], text)


def type_words(name: str) -> str:
    """Say in words what the setting ``name`` takes, with its range."""
    return type_words_of(_all_fields()[name])


def _all_fields() -> dict[str, Field[Any]]:
    return {item.name: item for cls in (RunConfig, Tunables) for item in fields(cls)}
