"""Films the agents of a report."""

from collections.abc import Sequence
from dataclasses import replace

from td3core.analysis.comparison import compare
from td3core.checkpoint import load
from td3core.cli.consent import obtain_consent
from td3core.cli.film.progress import FilmReporter
from td3core.cli.numerics import require_class
from td3core.cli.terminal import console
from td3core.errors import MessageError
from td3core.exporters.film.frames import environment_of
from td3core.exporters.film.growth import Scene, scenes_of_run
from td3core.exporters.report.contents import ReportRequest
from td3core.exporters.report.document import Film
from td3core.exporters.report.films import MOST_FILMS, Cast, casts_of, film_of
from td3core.exporters.report.run_facts import RunFacts
from td3core.runs.directory import RunDirectory
from td3core.text import Text, tr


def with_films(
    request: ReportRequest, runs: Sequence[RunFacts], *, trust_env: bool
) -> ReportRequest:
    """Add a film of each group to a report, or the reason why there is none.

    Raises:
        RequestError: the code of an environment was not allowed.
    """
    results = [run.results for run in runs]
    comparison = compare(results, request.metric, request.by, request.names)
    casts, films, missing = casts_of(comparison), list[Film](), list[str]()
    agents = [load(cast.scenes[0].path) for cast in casts]
    choices = dict.fromkeys(agent.header.config.choice for agent in agents)
    require_class(*(scene.numerics for cast in casts for scene in cast.scenes))
    obtain_consent(*choices, given=trust_env)
    for cast in casts:
        try:
            films.append(_filmed(cast))
        except MessageError as problem:
            missing.append(tr("Film of {name}: {reason}", name=cast.name, reason=problem.message))
    without = min(len(comparison.groups), MOST_FILMS) - len(casts)
    if without:
        text = Text.counted(
            "Film of {n} group: it has no checkpoint.",
            "Films of {n} groups: they have no checkpoint.",
            n=without,
        )
        missing.append(str(text))
    if len(comparison.groups) > MOST_FILMS:
        left = len(comparison.groups) - MOST_FILMS
        missing.append(
            str(
                Text.counted(
                    "Film of {n} group: the first {most} are filmed.",
                    "Films of {n} groups: the first {most} are filmed.",
                    n=left,
                    most=MOST_FILMS,
                )
            )
        )
    return replace(request, films=tuple(films), missing=(*request.missing, *missing))


def best_agent(run: RunDirectory) -> Scene:
    """Return the best agent of a run, or its last one if the best is unknown.

    Raises:
        RequestError: the run has no agent, or an agent cannot be read.
    """
    scenes = scenes_of_run(run)
    return next((scene for scene in scenes if scene.best), scenes[-1])


def film_agent(name: str, agent: Scene) -> Film:
    """Film an agent of a run with this name.

    Raises:
        RequestError: its environment cannot be drawn.
        RunError: its environment raised an exception.
    """
    return _filmed(Cast(name=name, scenes=(agent,)))


def _filmed(cast: Cast) -> Film:
    first = load(cast.scenes[0].path)
    reporter = FilmReporter(console, 1)
    environment_of(first, cast.scenes[0].path, draws=True)
    with reporter:
        return film_of(cast, reporter)
