"""The command that films the checkpoints of a run one after another, or agents side by side."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from td3core.cli.agents import Seed, film_file
from td3core.cli.consent import obtain_consent
from td3core.cli.film import film_options
from td3core.cli.film.answer import film_entries
from td3core.cli.film.side_by_side import compared_agents, film_side_by_side
from td3core.cli.film.tensorboard import film_for_tensorboard
from td3core.cli.numerics import require_class
from td3core.cli.options import AsJson, Force, RunsDir, TrustEnv
from td3core.cli.paths import find_checkpoint, find_run, runs_folder
from td3core.cli.terminal import CommandResult, console, print_result
from td3core.errors import RequestError
from td3core.text import Text

if TYPE_CHECKING:
    from td3core.exporters.film.growth import Growth, Scene

LEAST_SIZE, MOST_SIZE = 160, 7680


def film(
    sources: film_options.Sources,
    out: film_options.Out = None,
    tensorboard: film_options.Tensorboard = None,
    episodes: film_options.EpisodesPer = 1,
    seed: Seed = 0,
    most_s: film_options.MostSeconds = None,
    size: film_options.Size = None,
    side_by_side: film_options.SideBySide = False,
    noise: film_options.Noise = False,
    push: film_options.Push = False,
    push_at: film_options.PushAt = None,
    columns: film_options.Columns = 0,
    speed: film_options.Speed = 1.0,
    force: Force = False,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``film``."""
    from td3core.checkpoint import load
    from td3core.cli.film.progress import FilmReporter
    from td3core.exporters.film.frames import environment_of
    from td3core.exporters.film.growth import FilmSettings, record_growth
    from td3core.exporters.film.side_by_side import ComparisonSettings

    together: dict[str, object] = {
        "--noise": noise,
        "--push": push,
        "--push-at": push_at,
        "--columns": columns,
        "--speed": speed != 1.0,
    }
    grown: dict[str, object] = {"--size": size, "--max-seconds-per": most_s}
    if tensorboard is not None:
        file = {"--out": out, "--episodes-per": episodes != 1, "--seed": seed, "--force": force}
        _refuse(file | grown | {"--side-by-side": side_by_side} | together, "--tensorboard")
        return film_for_tensorboard(
            [find_run(source, runs_dir) for source in sources],
            tensorboard,
            trust_env=trust_env,
            as_json=as_json,
        )
    if out is None:
        raise RequestError("film needs a file, --out FILE, or --tensorboard DIR.")
    _require_one_kind(grown, together, side_by_side=side_by_side)
    out = film_file(out, overwrite=force)
    if side_by_side:
        return film_side_by_side(
            compared_agents(sources, runs_dir, noise=noise, push=push or bool(push_at)),
            out,
            ComparisonSettings(
                episodes=episodes, seed=seed, speed=speed, columns=columns, pushes=push_at or ()
            ),
            trust_env=trust_env,
            as_json=as_json,
        )
    settings = FilmSettings(episodes=episodes, seed=seed, most_s=most_s, size=_parse_size(size))
    scenes = _scenes(sources, runs_dir)
    first = load(scenes[0].path)
    require_class(*(scene.numerics for scene in scenes))
    obtain_consent(first.header.config.choice, given=trust_env)
    reporter = FilmReporter(console, episodes)
    environment_of(first, scenes[0].path, draws=True)
    with reporter:
        growth = record_growth(scenes, out, settings, reporter)
    info = growth.info
    if not as_json:
        print_result(
            Text.counted(
                "film of {n} checkpoint, {seconds:.1f} s, {size}, written to {file}",
                "film of {n} checkpoints, {seconds:.1f} s, {size}, written to {file}",
                n=len(growth.scenes),
                seconds=info.duration_s,
                size=f"{info.width}x{info.height}",
                file=out,
            )
        )
    return CommandResult(result=_result(growth, out))


def _scenes(sources: list[Path], runs_dir: Path | None) -> "list[Scene]":
    from td3core.checkpoint import SUFFIX
    from td3core.exporters.film.growth import scenes_of_files, scenes_of_run

    folders = [each for each in sources if _is_folder(each, runs_folder(runs_dir))]
    is_file = sources[0].is_file() or sources[0].suffix == SUFFIX
    if len(sources) == 1 and (folders or not is_file):
        return scenes_of_run(find_run(sources[0], runs_dir))
    if folders:
        raise RequestError(
            "{path} is a folder; give one run, or several checkpoints.", path=str(folders[0])
        )
    return scenes_of_files([find_checkpoint(source, runs_dir) for source in sources])


def _is_folder(source: Path, runs: Path) -> bool:
    """Return whether this is a folder, or the name of a run."""
    return source.is_dir() or (runs / source).is_dir()


def _require_one_kind(
    growth: dict[str, object], together: dict[str, object], *, side_by_side: bool
) -> None:
    """Refuse options of the other kind of film.

    Raises:
        RequestError: such an option is given.
    """
    if side_by_side:
        _refuse(growth, "--side-by-side")
        return
    for option, value in together.items():
        if value:
            raise RequestError("{option} needs --side-by-side.", option=option)


def _refuse(options: dict[str, object], other: str) -> None:
    """Refuse options that have no meaning together with another one.

    Raises:
        RequestError: such an option is given.
    """
    for option, value in options.items():
        if value:
            raise RequestError("{option} cannot be used with {other}.", option=option, other=other)


def _parse_size(text: str | None) -> tuple[int, int] | None:
    """Return width and height.

    Raises:
        RequestError: they are not two even numbers of reasonable size.
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d{1,5})\s*[xX×]\s*(\d{1,5})\s*", text)
    size = (int(match[1]), int(match[2])) if match else (0, 0)
    if not all(LEAST_SIZE <= each <= MOST_SIZE and each % 2 == 0 for each in size):
        raise RequestError(
            "--size takes two even numbers from {least} to {most}, such as 1280x720, not {text}.",
            least=LEAST_SIZE,
            most=MOST_SIZE,
            text=repr(text),
        )
    return size


def _result(growth: "Growth", out: Path) -> dict[str, object]:
    return {
        **film_entries(growth.info, out),
        "checkpoints": [
            {
                "checkpoint": str(each.scene.path),
                "env_steps": each.scene.env_steps,
                "best": each.scene.best,
                "returns": each.returns,
                "lengths": each.lengths,
                "complete": each.complete,
            }
            for each in growth.scenes
        ],
    }
