"""Films the best agents of runs for TensorBoard."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from td3core.cli.consent import obtain_consent
from td3core.cli.final_film import show_film
from td3core.cli.numerics import require_class
from td3core.cli.terminal import CommandResult, print_result
from td3core.text import Text, Value

if TYPE_CHECKING:
    from td3core.runs.directory import RunDirectory


def film_for_tensorboard(
    runs: "Sequence[RunDirectory]", folder: Path, *, trust_env: bool, as_json: bool
) -> CommandResult:
    """Add a film of the best agent of each run to its folder of event files.

    Raises:
        RequestError: the code of an environment was not allowed, a run has no agent, its
            environment cannot be drawn, or the folder cannot be written.
        RunError: an environment raised an exception.
    """
    require_class(*(run.config.numerics for run in runs))
    obtain_consent(*dict.fromkeys(run.config.choice for run in runs), given=trust_env)
    films = []
    for run in runs:
        shown = show_film(run, folder.absolute())
        films.append(
            {
                "run": str(run.path),
                "env_steps": shown.env_steps,
                "file": str(shown.file),
                "new": shown.new,
            }
        )
        if not as_json:
            values: dict[str, Value] = {
                "run": run.path.name,
                "steps": shown.env_steps,
                "file": shown.file,
            }
            if shown.new:
                text = Text("{run}: film of the agent after {steps:,} steps in {file}", **values)
            else:
                text = Text("{run}: the agent after {steps:,} steps is already in {file}", **values)
            print_result(text)
    return CommandResult(result={"films": films})
