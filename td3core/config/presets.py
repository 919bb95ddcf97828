"""Proven settings, stored as TOML files in ``resources/presets``.

A *preset* belongs to an environment. A *variant* belongs to none: it changes the algorithm (DDPG,
TD3 without one of its tricks) and is applied on top of any preset.
"""

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Any

import platformdirs
import tomli_w

from td3core.config import (
    RunConfig,
    Tunables,
    default,
    make_settings,
    merged,
    specs,
    to_dict,
)
from td3core.config.algorithms import fixed_by
from td3core.config.settings import by_present_names
from td3core.errors import (
    RequestError,
    brief,
    file_reason,
    in_file,
    unknown_name,
    unreadable,
    unwritable,
)
from td3core.system.bundled_files import known_keys, reading
from td3core.system.files import make_folder, slug, write_atomically
from td3core.system.regular_files import exists, glob, read_text
from td3core.text import SettingName, Text

PLUS = " + "
"""Joins the names of a preset and of the variants applied on top of it."""
_KEYS = ("name", "env", "about", "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named set of values; all other settings keep their defaults."""

    name: str
    env: str
    """Its environment; empty for a variant."""
    about: str
    values: Mapping[str, Any]


def user_presets_dir() -> Path:
    """Return the folder of the user's presets: ``TD3_STUDIO_PRESETS`` if set, else the default."""
    chosen = os.environ.get("TD3_STUDIO_PRESETS")
    return (
        Path(chosen) if chosen else platformdirs.user_config_path("td3-studio", False) / "presets"
    )


def load_presets() -> dict[str, Preset]:
    """Return all readable presets by name, in alphabetical order."""
    presets = [*_bundled(), *(preset for _, preset in _own())]
    return {preset.name: preset for preset in sorted(presets, key=lambda p: p.name.lower())}


def refused_presets() -> list[RequestError]:
    """Return why files of the user's presets are left out, by name."""
    return _read_own()[1]


def unknown_preset(name: str, known: Sequence[str]) -> RequestError:
    """Return the error for a preset that does not exist; it may be in a file that was left out."""
    unknown = unknown_name("There is no preset called {name}.", name, known)
    left_out = refused_presets()
    if not left_out:
        return unknown
    reasons = Text.joined(problem.message for problem in left_out)
    return RequestError("{unknown} {reasons}", unknown=unknown.message, reasons=reasons)


def save_preset(name: str, config: RunConfig, tunables: Tunables) -> Preset:
    """Save settings as a preset of the user, in place of one of that name, for their environment.

    Only values that differ from the defaults are written. Seed and thread count are omitted: they
    belong to a run and a machine.

    Raises:
        RequestError: the name is invalid or already bundled, or the file cannot be written.
    """
    name = name.strip()
    if not name or len(name) > 80 or any(ord(c) < 32 for c in name):
        raise RequestError("A preset needs a name of at most 80 characters.")
    _require_free(name)
    preset = preset_of(name, config, tunables)
    folder, files_of_name = user_presets_dir(), _files_of(name)
    # Of several files with this name, the last one counts.
    path = files_of_name[-1] if files_of_name else _new_file(name)
    try:
        make_folder(folder)
        write_atomically(path, preset_text(preset).encode())
    except OSError as problem:
        raise unwritable(folder, problem) from problem
    return preset


def own_preset(name: str) -> Preset | None:
    """Return the user's preset of a name, which saving another one would replace."""
    return next((preset for _, preset in reversed(_own()) if preset.name == name), None)


def preset_of(name: str, config: RunConfig, tunables: Tunables) -> Preset:
    """Return a preset of these settings; it holds only what differs from the defaults."""
    return Preset(name=name, env=config.env, about="", values=_differences(config, tunables))


def delete_preset(name: str) -> None:
    """Delete a preset of the user: every file in which it has that name.

    Raises:
        RequestError: no user preset has that name, or a file cannot be deleted.
    """
    paths = _files_of(name)
    if not paths:
        raise RequestError("{name} is not one of your own presets.", name=name)
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as problem:
            reason = file_reason(problem)
            raise RequestError(
                "{file} cannot be deleted: {reason}.", file=path.name, reason=reason
            ) from problem


def preset_text(preset: Preset) -> str:
    """Return a preset as TOML text for :func:`parse_preset`."""
    head = {"name": preset.name, "about": preset.about}
    if preset.env:
        head["env"] = preset.env
    return tomli_w.dumps({**head, "settings": dict(preset.values)})


def parse_preset(text: str) -> Preset:
    """Read a preset from TOML text.

    Raises:
        RequestError: it is not TOML, a key is missing or unknown, or a value is refused.
    """
    with reading(_refusal):
        found = known_keys(text, _KEYS)
    if "name" not in found:
        raise _refusal(Text("it has no name"))
    settings = found.get("settings", {})
    if not isinstance(settings, dict):
        raise _refusal(Text("settings is not a table"))
    preset = Preset(
        name=_text(found, "name"),
        env=_text(found, "env"),
        about=_text(found, "about"),
        values=by_present_names(settings),
    )
    if "env" in found and not preset.env.strip():
        raise _refusal(Text("{key} is empty; leave it out of a variant", key=SettingName("env")))
    config, _ = make_settings({**preset.values, "env": preset.env or "any"})
    # Spelled as in a run: the window compares them.
    spelled = {"env_args": config.env_args} if "env_args" in settings else {}
    return replace(preset, values={**preset.values, **spelled})


@cache
def _bundled() -> tuple[Preset, ...]:
    folder = files("resources") / "presets"
    texts = [p.read_text("utf-8") for p in folder.iterdir() if p.name.endswith(".toml")]
    return tuple(parse_preset(text) for text in texts)


def _require_free(name: str) -> None:
    """Refuse the name of a bundled preset: one name must mean one set of values."""
    if any(preset.name == name for preset in _bundled()):
        raise RequestError("{name} is the name of a bundled preset; choose another.", name=name)


def _own() -> list[tuple[Path, Preset]]:
    """Return the user's readable presets with their files, which may have any name."""
    return _read_own()[0]


def _read_own() -> tuple[list[tuple[Path, Preset]], list[RequestError]]:
    """Return the user's presets with their files, and why other files are left out."""
    found, refused = list[tuple[Path, Preset]](), list[RequestError]()
    for path in glob(user_presets_dir(), "*.toml"):
        try:
            preset = parse_preset(read_text(path))
            _require_free(preset.name)
        except RequestError as problem:
            refused.append(in_file(Path(path.name), problem))
        except (OSError, UnicodeDecodeError) as problem:
            refused.append(unreadable(Path(path.name), problem))
        else:
            found.append((path, preset))
    return found, refused


def _files_of(name: str) -> list[Path]:
    return [path for path, preset in _own() if preset.name == name]


def _new_file(name: str) -> Path:
    # The name is free text; the path must stay within the folder.
    stem = f"{slug(name) or 'preset'}-{zlib.crc32(name.encode()):08x}"
    ends = chain([""], (f"-{n}" for n in count(2)))
    paths = (user_presets_dir() / f"{stem}{end}.toml" for end in ends)
    # A file in the way holds something else, or a preset that this version cannot read.
    return next(path for path in paths if not exists(path))


def _differences(config: RunConfig, tunables: Tunables) -> dict[str, Any]:
    values = to_dict(config) | to_dict(tunables)
    left_out = ("env", "preset", "seed", "threads")
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in _defaults().items()}
    return _free({k: v for k, v in values.items() if k not in left_out and v != plain[k]})


def _free(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` without those that their algorithm fixes: another one may be chosen."""
    fixed = fixed_by(values)
    return {k: v for k, v in values.items() if k not in fixed or v != fixed[k]}


def _defaults() -> dict[str, Any]:
    return {name: default(name) for kind in (RunConfig, Tunables) for name, _ in specs(kind)}


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        reason = Text("{key} is not text but {value}", key=key, value=brief(repr(value)))
        raise _refusal(reason)
    return value


def _refusal(reason: Text) -> RequestError:
    return RequestError("This is not a preset: {reason}.", reason=reason)


def preset_for(env_id: str) -> Preset | None:
    """Return the bundled preset named after an environment, if there is one."""
    return next((p for p in _bundled() if env_id and env_id == p.env == p.name), None)


def compose(
    env_id: str, names: Sequence[str], values: Mapping[str, Any]
) -> tuple[RunConfig, Tunables]:
    """Apply the named presets in that order, and ``values`` on top.

    Unless a preset is named, the preset of the environment is applied first.

    Raises:
        RequestError: a preset is unknown or a value is refused.
    """
    presets = load_presets()
    for name in names:
        if name not in presets:
            raise unknown_preset(name, list(presets))
    chosen = [presets[name] for name in names]
    own = preset_for(env_id)
    if own is not None and not any(preset.env for preset in chosen):
        chosen.insert(0, own)
    base: dict[str, Any] = {"preset": PLUS.join(preset.name for preset in chosen)}
    for preset in chosen:
        base = merged(base, _free(preset.values))
    # A preset may set other values than the algorithm fixes.
    base |= fixed_by({**base, **values})
    return make_settings({**merged(base, values), "env": env_id})
