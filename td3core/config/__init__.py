"""Every setting of a run, declared once, and the presets that are made of them.

Start with ``settings.py``: form, command line, checks and manual all read what is declared there.
"""

from td3core.config.env_choice import EnvChoice
from td3core.config.settings import (
    RunConfig,
    Settings,
    Tunables,
    changes,
    check_together,
    default,
    default_threads,
    make_settings,
    parse_value,
    spec,
    specs,
    to_dict,
    type_words,
)
from td3core.config.spec import Spec

__all__ = [
    "EnvChoice",
    "RunConfig",
    "Settings",
    "Spec",
    "Tunables",
    "changes",
    "check_together",
    "default",
    "default_threads",
    "make_settings",
    "parse_value",
    "spec",
    "specs",
    "to_dict",
    "type_words",
]
