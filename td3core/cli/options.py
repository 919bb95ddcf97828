"""Arguments and options that several commands share, and the values of ``--set``."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from td3core.cli.paths import with_absolute_paths
from td3core.cli.terminal import log
from td3core.config import RunConfig, parse_value, spec
from td3core.config.algorithms import unused_by
from td3core.config.spec import checked, option_field, parse_text
from td3core.errors import RequestError
from td3core.system.capacity import MOST_JOBS
from td3core.text import SettingName, Text, marked, tr


def given_path(text: str) -> Path:
    """Return the path of an argument.

    Raises:
        typer.BadParameter: the text is empty, for instance an unset variable of a shell script;
            ``Path`` would take it for the current folder.
    """
    if not text:
        raise typer.BadParameter(tr("it is empty."))
    return Path(text)


def limited(option: str, metavar: str, about: str, kind: type = int, **limits: Any) -> Any:
    """Return an option for a number, or a choice, that is refused as a value of ``--set`` is.

    Args:
        option: with its dashes.
        metavar: the name of its value in the help.
        about: its help.
        kind: ``int``, ``float`` or ``str``.
        limits: ``low``, ``high`` and ``choices`` of :class:`td3core.config.spec.Spec`.
    """
    item = option_field(option, kind, **limits)

    def parsed(given: Any) -> Any:
        try:
            return checked(item, parse_text(item, str(given)))
        except RequestError as problem:
            # Typer would reword a ValueError.
            raise typer.BadParameter(str(problem)) from problem

    return typer.Option(option, metavar=metavar, parser=parsed, help=about)


def of_setting(option: str, metavar: str, about: str) -> Any:
    """Return an option that stands for the whole-number setting of its name."""
    known = spec(RunConfig, option.removeprefix("--"))
    return limited(option, metavar, about, low=known.low, high=known.high)


CheckpointFile = Annotated[
    Path,
    typer.Argument(
        metavar="CHECKPOINT",
        parser=given_path,
        help=marked("A checkpoint, or a run (its best checkpoint is used)."),
    ),
]
Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        parser=given_path,
        help=marked("A run: its folder, or its name as shown by list."),
    ),
]
EnvName = Annotated[
    str, typer.Argument(metavar="ENV", help=marked("Environment, for instance Pendulum-v1."))
]
EnvModule = Annotated[
    str | None,
    typer.Option(
        "--env-module",
        metavar="MODULE",
        help=marked("Module to import first; it registers the environment."),
    ),
]
RunsDir = Annotated[
    Path | None,
    typer.Option(
        "--runs-dir",
        metavar="DIR",
        parser=given_path,
        help=marked("Folder of runs. Default: TD3_STUDIO_RUNS, else your data folder."),
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help=marked("Change a setting; may be repeated.")),
]
Steps = Annotated[
    int | None,
    of_setting("--steps", "N", marked("Environment steps, for instance 1e6.")),
]
Journal = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="RUN",
        parser=given_path,
        help=marked("Repeat the live changes of this run at the same steps."),
    ),
]
TrustEnv = Annotated[
    bool,
    typer.Option(
        "--trust-env",
        help=marked(
            "Run the code of an environment that a file names as module:Class, without asking."
        ),
    ),
]
Jobs = Annotated[
    int | None,
    limited(
        "--jobs",
        "N",
        marked("Runs of a group at once. Default: as many as cores and memory allow."),
        low=1,
        high=MOST_JOBS,
    ),
]
Force = Annotated[bool, typer.Option("--force", help=marked("Replace an existing file."))]
# Printed by app.main: a command only returns its result.
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help=marked("Print one JSON object as the last line of standard output.")
    ),
]


def tell_unused(names: Iterable[str], algorithm: str) -> None:
    """Log which of these settings have no effect with ``algorithm``."""
    for name in names:
        if name in unused_by(algorithm):
            log(
                Text(
                    "{name} has no effect with {algorithm}.",
                    name=SettingName(name),
                    algorithm=algorithm,
                )
            )


def assignments(texts: list[str]) -> dict[str, Any]:
    """Parse the ``FIELD=VALUE`` of every ``--set``.

    Raises:
        RequestError: a field is unknown or cannot be set this way, or a value has the wrong type.
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise RequestError("--set takes FIELD=VALUE, not {text}.", text=repr(text))
        if name.strip() == "env":
            raise RequestError("--set cannot change env; name the environment after the command.")
        if name.strip() == "preset":
            raise RequestError("--set cannot change preset; use --preset.")
        values[name.strip()] = parse_value(name.strip(), value)
    if "env_args" in values:
        values["env_args"] = with_absolute_paths(values["env_args"])
    return values
