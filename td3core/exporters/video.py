"""Exports a film of an agent as MP4, GIF or WebP, one frame per step."""

from contextlib import ExitStack
from pathlib import Path

from td3core.checkpoint import Checkpoint, load
from td3core.checkpoint.agent import agent_of
from td3core.evaluation.evaluate import collect_result
from td3core.evaluation.result import EvaluationResult
from td3core.exporters.film.files import require_film_suffix
from td3core.exporters.film.frames import environment_of, filmed_episode
from td3core.exporters.film.instruments import InstrumentCanvas
from td3core.exporters.film.numbers import play, require_repeated
from td3core.exporters.film.progress import FilmProgress, Report, silent
from td3core.exporters.film.writer import FilmInfo, FilmWriter
from td3core.playing.numbers import EpisodeLog
from td3core.playing.step import RolloutStep


def export(checkpoint: Path, target: Path) -> None:
    """Record the first evaluation episode of seed 0; see :func:`record`."""
    require_film_suffix(target)
    source = load(checkpoint)
    environment_of(source, checkpoint, draws=True)
    record(source, target, episodes=1, seed=0)


def record(
    source: Checkpoint,
    target: Path,
    *,
    episodes: int,
    seed: int,
    speed: float = 1.0,
    instruments: bool = False,
    report: Report = silent,
) -> tuple[EvaluationResult, FilmInfo]:
    """Record noise-free episodes; return their results, and the data of the film.

    The episodes equal those of an evaluation with the same seed. One frame is rendered after each
    step. With ``instruments``, each episode is played once beforehand, so that the frames can show
    values known only at its end.

    Raises:
        RequestError: the environment cannot render images, does not repeat an episode that shows
            instruments, or the file cannot be written.
        RunError: the environment raised an exception.
    """
    agent, obs_dim = agent_of(source), source.header.env.obs_dim
    most = source.header.most_steps
    last_steps: list[RolloutStep] = []
    writer: FilmWriter | None = None
    with ExitStack() as film:
        for index in range(episodes):
            numbers = play(source, seed, index) if instruments else None
            canvas: InstrumentCanvas | None = None
            log = EpisodeLog(obs_dim)
            with filmed_episode([agent], seed, index, log=log) as episode:
                if writer is None:
                    writer = film.enter_context(FilmWriter(target, episode.fps, speed))
                for ((step, picture),) in episode:
                    if numbers is not None:
                        require_repeated(numbers, log, agent.choice)
                        canvas = canvas or InstrumentCanvas(picture, numbers)
                        writer.write(canvas.compose(picture, step.number))
                    else:
                        writer.write(picture)
                    made = writer.info().frames
                    report(FilmProgress(episode=index, step=step.number, most=most, frames=made))
                    if step.over:
                        last_steps.append(step)
    assert writer is not None
    return collect_result(last_steps, seed), writer.info()
