"""What distinguishes the settings of a run from those of its preset."""

from typing import Any

from studio.formatting import format_value
from td3core.config import RunConfig, Tunables, specs
from td3core.config.presets import PLUS, compose
from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory

_SHOWN = 3
_LEFT_OUT = ("env", "preset", "seed", "threads", "steps", "eval_interval", "checkpoint_interval")
"""Shown elsewhere, or without influence on what is learnt."""

Usual = dict[tuple[str, str], dict[str, Any]]
"""Settings of presets, by environment and preset."""


def changed_settings(run: RunDirectory, usual: Usual) -> str:
    """Return the settings that were changed from the preset's: ``γ 0.98, Actor layers 64, 64``.

    ``usual`` keeps what was found of presets, for the next run.
    """
    config = run.config
    key = (config.env, config.preset)
    if key not in usual:
        names = [name for name in config.preset.split(PLUS) if name]
        try:
            usual[key] = _values(*compose(config.env, names, {}))
        except RequestError:
            # A preset of one's own that has been deleted: nothing is known of it.
            usual[key] = {}
    known, values = usual[key], _values(config, run.first_tunables)
    labels = {
        name: spec.symbol or spec.label
        for kind in (config, run.first_tunables)
        for name, spec in specs(kind)
    }
    found = [
        f"{labels[name]} {format_value(value)}"
        for name, value in values.items()
        if name in known and known[name] != value and name not in _LEFT_OUT
    ]
    more = len(found) - _SHOWN
    return ", ".join([*found[:_SHOWN], *([f"{more} more"] if more > 0 else [])])


def _values(config: RunConfig, tunables: Tunables) -> dict[str, Any]:
    return {
        name: getattr(settings, name)
        for settings in (config, tunables)
        for name, _ in specs(settings)
    }
