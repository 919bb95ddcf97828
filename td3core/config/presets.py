"""Settings that are known to work, kept as TOML files in ``resources/presets``.

A *preset* belongs to an environment. A *variant* belongs to none: it changes the algorithm (DDPG,
TD3 without one of its tricks) and is laid over any preset.
"""

import os
import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import platformdirs
import tomli_w

from td3core.config import (
    RunConfig,
    Tunables,
    default,
    make_settings,
    specs,
    to_dict,
)
from td3core.errors import RequestError, brief, unknown_name
from td3core.system.files import write_atomically

PLUS = " + "
"""Joins the names of a preset and of the variants laid over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named set of values; settings it does not name keep their defaults."""

    name: str
    env: str
    """The environment it is for; empty for a variant."""
    about: str
    values: Mapping[str, Any]


def user_presets_dir() -> Path:
    """Return the folder of the user's own presets, ``TD3_STUDIO_PRESETS`` if that is set."""
    chosen = os.environ.get("TD3_STUDIO_PRESETS")
    return (
        Path(chosen) if chosen else platformdirs.user_config_path("td3-studio", False) / "presets"
    )


def load_presets() -> dict[str, Preset]:
    """Return all presets by name, in alphabetical order; the user's own where they are readable."""
    presets = _bundled() + _own()
    return {preset.name: preset for preset in sorted(presets, key=lambda p: p.name.lower())}


def save_preset(name: str, config: RunConfig, tunables: Tunables) -> Preset:
    """Keep settings as a preset of the user's own, for the environment they are for.

    Only what differs from the defaults is written. Seed and thread count are left out: they belong
    to a run and a machine.

    Raises:
        RequestError: the name is taken by a bundled preset or empty, or the file cannot be written.
    """
    name = name.strip()
    if not name or len(name) > 80 or any(ord(c) < 32 for c in name):
        raise RequestError("A preset needs a name of at most 80 characters.")
    if any(preset.name == name for preset in _bundled()):
        raise RequestError(f"{name} is the name of a bundled preset; choose another.")
    preset = preset_of(name, config, tunables)
    folder = user_presets_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(_file_of(name), preset_text(preset).encode())
    except OSError as problem:
        raise RequestError(f"{folder} cannot be written: {problem.strerror}.") from problem
    return preset


def preset_of(name: str, config: RunConfig, tunables: Tunables) -> Preset:
    """Return the preset that leads to these settings, naming only what is not the default."""
    return Preset(name=name, env=config.env, about="", values=_differences(config, tunables))


def delete_preset(name: str) -> None:
    """Remove a preset of the user's own.

    Raises:
        RequestError: there is none of that name.
    """
    try:
        _file_of(name).unlink()
    except OSError as problem:
        raise RequestError(f"{name} is not a preset of your own.") from problem


def preset_text(preset: Preset) -> str:
    """Return a preset as TOML, which :func:`parse_preset` reads."""
    head = {"name": preset.name, "about": preset.about}
    if preset.env:
        head["env"] = preset.env
    return tomli_w.dumps({**head, "settings": dict(preset.values)})


def parse_preset(text: str) -> Preset:
    """Read a preset from TOML text.

    Raises:
        RequestError: it is not TOML, a key is missing, or a value is refused.
    """
    try:
        found = tomllib.loads(text)
        preset = Preset(
            name=_text(found["name"]),
            env=_text(found.get("env", "")),
            about=_text(found.get("about", "")),
            values=dict(found.get("settings", {})),
        )
        if "env" in found and not preset.env.strip():
            raise RequestError("env is empty; leave it out of a variant")
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise RequestError(f"This is not a preset: {brief(problem)}") from problem
    make_settings({**preset.values, "env": preset.env or "any"})
    return preset


def _bundled() -> list[Preset]:
    folder = files("resources") / "presets"
    texts = [p.read_text("utf-8") for p in folder.iterdir() if p.name.endswith(".toml")]
    return [parse_preset(text) for text in texts]


def _own() -> list[Preset]:
    found = []
    for path in sorted(user_presets_dir().glob("*.toml")):
        try:
            found.append(parse_preset(path.read_text("utf-8")))
        except (RequestError, OSError, UnicodeDecodeError):
            continue
    return found


def _file_of(name: str) -> Path:
    # The name is free text; the file name must not lead anywhere else.
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "preset"
    return user_presets_dir() / f"{safe}-{zlib.crc32(name.encode()):08x}.toml"


def _differences(config: RunConfig, tunables: Tunables) -> dict[str, Any]:
    values = to_dict(config) | to_dict(tunables)
    left_out = ("env", "preset", "seed", "threads")
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in _defaults().items()}
    return {k: v for k, v in values.items() if k not in left_out and v != plain[k]}


def _defaults() -> dict[str, Any]:
    return {name: default(name) for kind in (RunConfig, Tunables) for name, _ in specs(kind)}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def preset_for(env_id: str) -> Preset | None:
    """Return the bundled preset made for an environment, if there is one."""
    return next((preset for preset in _bundled() if preset.env == env_id), None)


def compose(
    env_id: str, names: Sequence[str], values: Mapping[str, Any]
) -> tuple[RunConfig, Tunables]:
    """Lay ``values`` over the presets named, in their order.

    If only variants are named, or nothing is, the environment's own preset comes first.

    Raises:
        RequestError: a preset is unknown or a value is refused.
    """
    presets = load_presets()
    for name in names:
        if name not in presets:
            raise unknown_name("preset", name, list(presets))
    chosen = [presets[name] for name in names]
    own = preset_for(env_id)
    if own is not None and not any(preset.env for preset in chosen):
        chosen.insert(0, own)
    base: dict[str, Any] = {"preset": PLUS.join(preset.name for preset in chosen)}
    for preset in chosen:
        base |= preset.values
    return make_settings({**base, **values, "env": env_id})
