"""Every setting of a run, declared once, and the presets built from them.

Start with ``run_config.py`` and ``tunables.py``: form, command line, checks and manual all read
what is declared there.
"""

from td3core.config.env_choice import EnvChoice
from td3core.config.run_config import RunConfig, default_threads
from td3core.config.settings import (
    Settings,
    changes,
    check_together,
    default,
    make_settings,
    parse_value,
    spec,
    specs,
    title_of,
    to_dict,
    type_words,
)
from td3core.config.spec import Spec
from td3core.config.tunables import Tunables

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
    "title_of",
    "to_dict",
    "type_words",
]
