"""The command that checks an environment."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from td3core.cli.consent import allow_typed, rehearse_all
from td3core.cli.options import AsJson, EnvModule, EnvName, assignments
from td3core.cli.terminal import CommandResult
from td3core.errors import RequestError
from td3core.text import marked, tr

if TYPE_CHECKING:
    from td3core.envs.check.report import CheckReport


def check_command(
    env: EnvName,
    env_module: EnvModule = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="env_args=JSON", help=marked("Arguments of the environment.")
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=marked("Run only the checks made before training."))
    ] = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``check``."""
    from td3core.config.env_choice import EnvChoice
    from td3core.envs.check.examine import examine
    from td3core.envs.check.report import Level

    values = assignments(settings or [])
    args = values.pop("env_args", "")
    if values:
        raise RequestError(
            "check takes no setting but env_args, so not {names}.", names=", ".join(values)
        )
    name = f"{env_module}:{env}" if env_module else env
    choice = EnvChoice(name, args)
    allow_typed(choice)
    rehearse_all(choice)
    report = examine(choice, thorough=not quick)
    if not as_json:
        _show(report)
    return CommandResult(status=1 if report.count(Level.ERROR) else 0, result=_as_dict(report))


def _as_dict(report: "CheckReport") -> dict[str, Any]:
    from td3core.envs.check.report import Level

    info = report.env
    return {
        "env": info.env_id,
        "env_args": json.loads(info.args or "{}"),
        "obs_dim": info.obs_dim,
        "act_dim": info.act_dim,
        "max_episode_steps": info.max_episode_steps,
        "reward_threshold": info.reward_threshold,
        "errors": report.count(Level.ERROR),
        "warnings": report.count(Level.WARNING),
        "info": list(report.info),
        "findings": [
            {"level": str(each.level), "check": each.check, "message": each.message}
            for each in report.findings
        ],
    }


def _show(report: "CheckReport") -> None:
    from td3core.envs.check.report import Level

    out = Console(highlight=False)
    marks = {
        Level.OK: ("green", tr("ok")),
        Level.WARNING: ("yellow", tr("warning")),
        Level.ERROR: ("red", tr("error")),
    }
    for each in report.findings:
        colour, word = marks[each.level]
        mark = f"[{colour}]{word:<8}[/]"
        out.print(f"{mark} {each.check!s:<18} {escape(str(each.message))}", soft_wrap=True)
