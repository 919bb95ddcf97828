"""The film of a run's best agent that TensorBoard shows after the run has ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.sinks import Sinks
from td3core.cli.terminal import CommandResult, log
from td3core.errors import MessageError, RequestError, require_no_interrupt, unwritable
from td3core.exporters.live.registry import TENSORBOARD
from td3core.text import Text, marked

if TYPE_CHECKING:
    from td3core.runs.directory import RunDirectory

FinalFilm = Annotated[
    bool, typer.Option("--film", help=marked("Show the best agent in TensorBoard at the end."))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFilm:
    """A film among the images of a run."""

    file: Path
    env_steps: int
    """Steps of the agent."""
    new: bool
    """Whether it was made just now; no film is made twice."""


def film_folder(film: bool, sinks: Sinks, env_id: str) -> Path | None:
    """Return the TensorBoard folder for films, if requested, and prepare rendering.

    Must be called before the environment is made: some renderers are chosen when it is imported.

    Raises:
        RequestError: films are requested, but TensorBoard is not.
    """
    if not film:
        return None
    folder = sinks.get(TENSORBOARD, TENSORBOARD.target)
    if folder is None:
        raise RequestError("--film needs --tensorboard: it is shown there.")
    from td3core.envs.rendering import prepare_rendering

    prepare_rendering(env_id)
    return folder.absolute()


def with_films(answer: CommandResult, folder: Path | None) -> CommandResult:
    """Show a film of each run in a command's answer, and return the answer.

    Failures are reported; Ctrl-C ends only the filming: the runs have ended.
    """
    if folder is None:
        return answer
    try:
        for run in _runs_of(answer.result):
            _try_to_show_film(run, folder)
    except KeyboardInterrupt:
        log(Text("There is no film: {reason}", reason=Text("Interrupted.")))
    return answer


def _try_to_show_film(run: Path, folder: Path) -> None:
    """Try to film a finished run: after a failure, the command still reports the run."""
    from td3core.runs.directory import RunDirectory

    try:
        show_film(RunDirectory.open(run), folder)
    except MessageError as problem:
        require_no_interrupt(problem)
        log(Text("There is no film: {reason}", reason=problem.message))


def show_film(run: "RunDirectory", folder: Path) -> ShownFilm:
    """Film the best agent of a run for TensorBoard, unless it shows that agent already.

    Raises:
        RequestError: the run has no agent, its environment cannot be drawn, or the folder cannot be
            written.
        RunError: its environment raised an exception.
    """
    from td3core.cli.report.films import best_agent, film_agent
    from td3core.exporters.live.tensorboard import TensorBoardSink

    agent, sink = best_agent(run), TensorBoardSink(folder)
    steps = agent.env_steps
    there = sink.film(run.path, steps)
    if there is not None:
        return ShownFilm(file=there, env_steps=steps, new=False)
    film = film_agent(run.path.name, agent)
    try:
        file = sink.show_film(run.path, film.gif, (film.width, film.height), steps)
    except OSError as problem:
        raise unwritable(folder, problem) from problem
    return ShownFilm(file=file, env_steps=steps, new=True)


def _runs_of(result: Any) -> Iterator[Path]:
    """Yield the folders of the runs in a command's answer, for one run or a group."""
    if isinstance(result, dict):
        for each in (result, *result.get("runs", ())):
            if each.get("run"):
                yield Path(each["run"])
