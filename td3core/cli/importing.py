"""The command that imports agents and curves of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from td3core.cli.consent import allow_typed, obtain_consent
from td3core.cli.options import AsJson, Force, RunsDir, TrustEnv
from td3core.cli.paths import require_writable_name, runs_folder, with_absolute_paths
from td3core.cli.terminal import CommandResult, log, print_result
from td3core.config import EnvChoice
from td3core.errors import RequestError
from td3core.text import marked, tr

if TYPE_CHECKING:
    from td3core.envs.info import EnvInfo


def import_command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help=marked("The file to import, or a folder of RL Zoo.")),
    ],
    env: Annotated[
        str | None,
        typer.Option(
            "--env", metavar="ID", help=marked("Its environment, where the file names none.")
        ),
    ] = None,
    env_args: Annotated[
        str, typer.Option("--env-args", metavar="JSON", help=marked("Arguments of --env."))
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="AGENT",
            help=marked(
                "Write only the agent, to this .safetensors file; by default a run is made."
            ),
        ),
    ] = None,
    vecnormalize: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=marked("Statistics of observations that stable-baselines3 has saved."),
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="NAME", help=marked("Name of the run; by default that of the file.")
        ),
    ] = "",
    group: Annotated[
        str,
        typer.Option(
            "--group",
            metavar="GROUP",
            help=marked("Group of the curves: those of one group are compared as one."),
        ),
    ] = "",
    force: Force = False,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``import``."""
    from td3core.importers import importing

    if out is not None:
        require_writable_name(out, overwrite=force)
        out = out.absolute()
    if env_args and env is None:
        raise RequestError("--env-args needs --env.")
    if out is not None and (name or group):
        raise RequestError("{option} is for runs; --out makes none.", option="--name, --group")
    folder = runs_folder(runs_dir)
    found = importing.examine(file.absolute(), vecnormalize and vecnormalize.absolute())
    given = None if env is None else EnvChoice(env, with_absolute_paths(env_args))
    choice = importing.choice_of(found, given, file.name)

    def make(choice: EnvChoice) -> "EnvInfo":
        from td3core.envs.make import check_env

        if given is not None:
            allow_typed(choice)
        obtain_consent(choice, given=trust_env)
        return check_env(choice)

    if out is not None:
        made = importing.import_to_file(found, choice, make, out)
    else:
        made = importing.import_to_run(found, choice, make, folder, name=name, group=group)
    notes = made.notes
    if not as_json:
        target = made.checkpoint if out is not None else made.run
        print_result(
            tr(
                "Imported from {kind} for {env_id}: {target}",
                kind=found.kind,
                env_id=made.env_id,
                target=target,
            )
        )
        for note in notes:
            log(f"  {note}")
    return CommandResult(
        result={
            "run": made.run and str(made.run),
            "checkpoint": made.checkpoint and str(made.checkpoint),
            "kind": found.kind,
            "env": made.env_id,
            "sha256": made.sha256,
            "notes": notes,
        }
    )
