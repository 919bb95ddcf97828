"""Every setting of a run, declared once, and the presets built from them.

Start with ``run_config.py`` and ``tunables.py``: form, command line, checks and manual all read the
declarations there.
"""

from td3core.config.env_choice import EnvChoice
from td3core.config.run_config import RunConfig, default_threads
from td3core.config.settings import (
    Settings,
    all_given,
    at_step,
    changes,
    check_together,
    default,
    follows,
    given,
    label_of,
    make_settings,
    merged,
    parse_value,
    pinned,
    recorded_settings,
    schedule_of,
    setting_words,
    sign_of,
    spec,
    special_word,
    specs,
    title_of,
    to_dict,
    type_words,
    values_of,
    with_values,
)
from td3core.config.spec import Spec
from td3core.config.tunables import Tunables

__all__ = [
    "EnvChoice",
    "RunConfig",
    "Settings",
    "Spec",
    "Tunables",
    "all_given",
    "at_step",
    "changes",
    "check_together",
    "default",
    "default_threads",
    "follows",
    "given",
    "label_of",
    "make_settings",
    "merged",
    "parse_value",
    "pinned",
    "recorded_settings",
    "schedule_of",
    "setting_words",
    "sign_of",
    "spec",
    "special_word",
    "specs",
    "title_of",
    "to_dict",
    "type_words",
    "values_of",
    "with_values",
]
