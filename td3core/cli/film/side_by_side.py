"""The film of several agents side by side, as made by the command ``film``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from td3core.cli.consent import obtain_consent
from td3core.cli.film.answer import film_entries
from td3core.cli.numerics import require_class
from td3core.cli.paths import find_checkpoint
from td3core.cli.terminal import CommandResult, console, print_result
from td3core.errors import RequestError
from td3core.text import Text

if TYPE_CHECKING:
    from td3core.exporters.film.side_by_side import ComparisonFilm, ComparisonSettings
    from td3core.playing.compared import ComparedAgent


def film_side_by_side(
    compared: "Sequence[ComparedAgent]",
    out: Path,
    settings: "ComparisonSettings",
    *,
    trust_env: bool,
    as_json: bool,
) -> CommandResult:
    """Film agents that play in lockstep; return the answer of the command."""
    from td3core.checkpoint import load
    from td3core.cli.film.progress import FilmReporter
    from td3core.exporters.film.frames import environment_of
    from td3core.exporters.film.side_by_side import record_side_by_side

    first = load(compared[0].path)
    paths = dict.fromkeys(each.path for each in compared[1:])
    others = [load(path).header.config for path in paths if path != compared[0].path]
    configs = [first.header.config, *others]
    require_class(*(each.numerics for each in configs))
    obtain_consent(*(each.choice for each in configs), given=trust_env)
    reporter = FilmReporter(console, settings.episodes)
    environment_of(first, compared[0].path, draws=True)
    with reporter:
        film = record_side_by_side(compared, out, settings, reporter)
    info = film.info
    if not as_json:
        print_result(
            Text.counted(
                "film of {n} agent, {seconds:.1f} s, {size}, written to {file}",
                "film of {n} agents, {seconds:.1f} s, {size}, written to {file}",
                n=len(film.agents),
                seconds=info.duration_s,
                size=f"{info.width}x{info.height}",
                file=out,
            )
        )
    return CommandResult(result=_result(film, out))


def compared_agents(
    sources: Sequence[Path], runs_dir: Path | None, *, noise: bool, push: bool
) -> "list[ComparedAgent]":
    """Return the named agents, and the variants of the first one.

    Raises:
        RequestError: an agent does not exist, or there are too few or too many.
    """
    from td3core.playing.compared import FEWEST, MOST, ComparedAgent
    from td3core.playing.disturbance import Variant

    found = [ComparedAgent(find_checkpoint(source, runs_dir)) for source in sources]
    for wanted, variant in ((noise, Variant.NOISE), (push, Variant.PUSH)):
        if wanted:
            found.append(ComparedAgent(found[0].path, variant))
    if not FEWEST <= len(found) <= MOST:
        raise RequestError(
            "--side-by-side shows {least} to {most} agents, not {count}.",
            least=FEWEST,
            most=MOST,
            count=len(found),
        )
    return found


def _result(film: "ComparisonFilm", out: Path) -> dict[str, object]:
    return {
        **film_entries(film.info, out),
        "agents": [
            {
                "checkpoint": str(each.facts.agent.path),
                "variant": each.facts.agent.variant.value,
                "env_steps": each.facts.env_steps,
                "name": each.name,
                "returns": each.returns,
                "lengths": each.lengths,
            }
            for each in film.agents
        ],
    }
