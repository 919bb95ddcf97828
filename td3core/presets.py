"""Settings that are known to work, kept as TOML files in ``resources/presets``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from td3core.config import RunConfig, Tunables, make_settings, unknown_name
from td3core.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named set of values; settings it does not name keep their defaults."""

    name: str
    env: str
    about: str
    values: Mapping[str, Any]


def load_presets() -> dict[str, Preset]:
    """Return all presets by name, in alphabetical order."""
    folder = files("resources") / "presets"
    texts = [p.read_text("utf-8") for p in folder.iterdir() if p.name.endswith(".toml")]
    presets = [parse_preset(text) for text in texts]
    return {preset.name: preset for preset in sorted(presets, key=lambda p: p.name.lower())}


def parse_preset(text: str) -> Preset:
    """Read a preset from TOML text.

    Raises:
        RequestError: it is not TOML, a key is missing, or a value is refused.
    """
    try:
        found = tomllib.loads(text)
        preset = Preset(
            name=str(found["name"]),
            env=str(found["env"]),
            about=str(found.get("about", "")),
            values=dict(found.get("settings", {})),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise RequestError(f"This is not a preset: {problem}") from problem
    make_settings({**preset.values, "env": preset.env})
    return preset


def preset_for(env_id: str) -> Preset | None:
    """Return the preset made for an environment, if there is one."""
    return next((p for p in load_presets().values() if p.env == env_id), None)


def compose(
    env_id: str, preset_name: str | None, values: Mapping[str, Any]
) -> tuple[RunConfig, Tunables]:
    """Lay ``values`` over a preset: the one named, else the environment's own, else none."""
    if preset_name:
        presets = load_presets()
        if preset_name not in presets:
            raise unknown_name("preset", preset_name, list(presets))
        preset: Preset | None = presets[preset_name]
    else:
        preset = preset_for(env_id)
    base = dict(preset.values) | {"preset": preset.name} if preset else {}
    return make_settings({**base, **values, "env": env_id})
