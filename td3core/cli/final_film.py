"""The film of the best agent that TensorBoard shows when a run has ended."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from td3core.cli.sinks import Sinks
from td3core.cli.terminal import CommandResult, log
from td3core.errors import MessageError, RequestError
from td3core.exporters.live.registry import TENSORBOARD
from td3core.text import Text, marked

FinalFilm = Annotated[
    bool, typer.Option("--film", help=marked("Show the best agent in TensorBoard at the end."))
]


def film_folder(film: bool, sinks: Sinks, env_id: str) -> Path | None:
    """Return where films are to be shown, if they are wanted, and prepare their pictures.

    Must be called before the environment is made: some renderers are chosen when it is imported.

    Raises:
        RequestError: they are wanted, but TensorBoard is not.
    """
    if not film:
        return None
    if TENSORBOARD not in sinks:
        raise RequestError("--film needs --tensorboard: it is shown there.")
    from td3core.envs.rendering import prepare_rendering

    prepare_rendering(env_id)
    return sinks[TENSORBOARD].absolute()


def with_films(answer: CommandResult, folder: Path | None) -> CommandResult:
    """Show a film of each run that a command has answered with, and return the answer.

    What cannot be filmed is said; Ctrl-C ends the filming only: the runs have ended.
    """
    if folder is None:
        return answer
    try:
        for run in _runs_of(answer.result):
            show_film(run, folder)
    except KeyboardInterrupt:
        log(Text("There is no film: {reason}", reason=Text("Interrupted.")))
    return answer


def show_film(run: Path, folder: Path) -> None:
    """Film the best agent of a run for TensorBoard; what cannot be filmed is said."""
    from td3core.cli.report.films import film_run
    from td3core.exporters.live.tensorboard import TensorBoardSink

    try:
        film, env_steps = film_run(run)
    except MessageError as problem:
        log(Text("There is no film: {reason}", reason=problem.message))
        return
    try:
        TensorBoardSink(folder).show_film(run, film.gif, (film.width, film.height), env_steps)
    except OSError as problem:
        # The run is over and saved: its answer is worth more than its film.
        log(Text("There is no film: {reason}", reason=problem.strerror or str(problem)))


def _runs_of(result: Any) -> Iterator[Path]:
    """Yield the folders of runs in the answer of a command for one, or for a group."""
    if isinstance(result, dict):
        for each in (result, *result.get("runs", ())):
            if each.get("run"):
                yield Path(each["run"])
