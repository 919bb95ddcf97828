"""Settings that are known to work, kept as TOML files in ``resources/presets``.

A *preset* belongs to an environment. A *variant* belongs to none: it changes the algorithm (DDPG,
TD3 without one of its tricks) and is laid over any preset.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from td3core.config import RunConfig, Tunables, make_settings, unknown_name
from td3core.errors import RequestError

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
            name=_text(found["name"]),
            env=_text(found.get("env", "")),
            about=_text(found.get("about", "")),
            values=dict(found.get("settings", {})),
        )
        if "env" in found and not preset.env.strip():
            raise RequestError("env is empty; leave it out of a variant")
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise RequestError(f"This is not a preset: {problem}") from problem
    make_settings({**preset.values, "env": preset.env or "any"})
    return preset


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def preset_for(env_id: str) -> Preset | None:
    """Return the preset made for an environment, if there is one."""
    return next((p for p in load_presets().values() if p.env == env_id), None)


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
