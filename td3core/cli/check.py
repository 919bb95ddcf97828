"""The command that tries an environment."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from td3core.cli.values import assignments
from td3core.errors import RequestError

if TYPE_CHECKING:
    from td3core.envs.check import CheckReport


def check_command(
    env: Annotated[str, typer.Argument(help="Environment, for instance Pendulum-v1.")],
    env_module: Annotated[
        str | None,
        typer.Option(metavar="MODULE", help="Import this first; it registers the environment."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="env_args=JSON", help="Its arguments.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only what is tried before a run begins.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object as the last line.")
    ] = False,
) -> int:
    """Try an environment: sizes, values, repeatability, ends of episodes. Status 1 on an error."""
    from td3core.config.env_choice import EnvChoice
    from td3core.envs.check import Level, examine

    values = assignments(settings or [])
    args = values.pop("env_args", "")
    if values:
        raise RequestError(f"check takes no setting but env_args, so not {' or '.join(values)}.")
    name = f"{env_module}:{env}" if env_module else env
    report = examine(EnvChoice(name, args), thorough=not quick)
    if as_json:
        print(json.dumps(_plain(report)))  # noqa: T201
    else:
        _tell(report)
    return 1 if report.count(Level.ERROR) else 0


def _plain(report: "CheckReport") -> dict[str, Any]:
    from td3core.envs.check import Level

    info = report.env
    return {
        "env": info.env_id,
        "env_args": info.choice.kwargs,
        "obs_dim": info.obs_dim,
        "act_dim": info.act_dim,
        "max_episode_steps": info.max_episode_steps,
        "reward_threshold": info.reward_threshold,
        "errors": report.count(Level.ERROR),
        "warnings": report.count(Level.WARNING),
        "findings": [
            {"level": str(each.level), "check": each.check, "message": each.message}
            for each in report.findings
        ],
    }


def _tell(report: "CheckReport") -> None:
    from td3core.envs.check import Level

    out = Console(highlight=False)
    colours = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "red"}
    for each in report.findings:
        mark = f"[{colours[each.level]}]{each.level:<8}[/]"
        out.print(f"{mark} {each.check:<18} {escape(each.message)}", soft_wrap=True)
