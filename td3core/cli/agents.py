"""The commands that use a saved agent: eval, replay and export."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.consent import obtain_consent
from td3core.cli.numerics import require_class
from td3core.cli.options import AsJson, CheckpointFile, Force, RunsDir, TrustEnv, limited
from td3core.cli.paths import find_checkpoint, require_writable_name
from td3core.cli.terminal import CommandResult, console, log, print_result
from td3core.config.value_text import format_share, plain_return
from td3core.errors import RequestError
from td3core.exporters.registry import EXPORTERS, find_exporter
from td3core.text import Text, Value, marked, tr

if TYPE_CHECKING:
    from td3core.evaluation.result import EvaluationResult, Overestimation

Episodes = Annotated[int, limited("--episodes", "N", marked("Number of episodes."), low=1)]
Seed = Annotated[int, limited("--seed", "SEED", marked("Seed of the episodes."), low=0)]


def evaluate_command(
    checkpoint: CheckpointFile,
    episodes: Episodes = 10,
    seed: Seed = 0,
    bias: Annotated[
        bool, typer.Option("--bias", help=marked("Measure how far its critics overestimate, too."))
    ] = False,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``eval``."""
    from td3core import checkpoint as files
    from td3core.checkpoint.agent import value_networks
    from td3core.evaluation.evaluate import evaluate
    from td3core.exporters.film.frames import environment_of, naming_environment

    path = find_checkpoint(checkpoint, runs_dir)
    found = files.load(path)
    require_class(found.header.config.numerics)
    critics = value_networks(found) if bias else None
    if bias and critics is None:
        raise RequestError("{file} holds no critics to measure.", file=path.name)
    obtain_consent(found.header.config.choice, given=trust_env)
    choice = environment_of(found, path)
    with naming_environment(choice):
        result = evaluate(found.policy(), choice, episodes=episodes, seed=seed, critics=critics)
    assert result is not None
    more = {}
    if bias:
        measured = result.overestimation
        more["bias"] = measured and asdict(measured)
        if not as_json:
            print_result(_bias_in_words(measured))
    return _evaluation(result, found.header.env.reward_threshold, as_json, **more)


def _bias_in_words(found: "Overestimation | None") -> Text:
    if found is None:
        return Text("bias of the critics: the episodes leave no rewards to compare them with")
    mean = Text("{mean:+.3f}", mean=found.mean)
    if found.low is not None and found.high is not None:
        ends: dict[str, Value] = {"low": found.low, "high": found.high}
        mean = Text("{mean} [{low:+.3f}, {high:+.3f}]", mean=mean, **ends)
    return Text.counted(
        "bias of the critics {mean}, deviation {std:.3f}:"
        " they expect {q}, {returns} was obtained ({n} state)",
        "bias of the critics {mean}, deviation {std:.3f}:"
        " they expect {q}, {returns} was obtained ({n} states)",
        n=found.states,
        mean=mean,
        std=found.std,
        q=plain_return(found.q, 2),
        returns=plain_return(found.returns, 2),
    )


def replay_command(
    checkpoint: CheckpointFile,
    video: Annotated[
        Path,
        typer.Option("--video", metavar="FILE", help=marked("The MP4, GIF or WebP file to write.")),
    ],
    episodes: Episodes = 1,
    seed: Seed = 0,
    speed: Annotated[
        float,
        limited(
            "--speed",
            "FACTOR",
            marked("How many times as fast the video plays."),
            float,
            low=0.1,
            high=16,
        ),
    ] = 1.0,
    instruments: Annotated[
        bool,
        typer.Option(
            "--instruments",
            help=marked("Show return, values, actions and observations below the picture."),
        ),
    ] = False,
    force: Force = False,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``replay``."""
    from td3core import checkpoint as files
    from td3core.cli.film.progress import FilmReporter
    from td3core.exporters.film.frames import environment_of
    from td3core.exporters.video import record

    video = film_file(video, overwrite=force)
    path = find_checkpoint(checkpoint, runs_dir)
    found = files.load(path)
    require_class(found.header.config.numerics)
    obtain_consent(found.header.config.choice, given=trust_env)
    reporter = FilmReporter(console, episodes)
    environment_of(found, path, draws=True)
    with reporter:
        result, info = record(
            found,
            video,
            episodes=episodes,
            seed=seed,
            speed=speed,
            instruments=instruments,
            report=reporter,
        )
    log(
        Text.counted(
            "{n} frame written to {file}", "{n} frames written to {file}", n=info.frames, file=video
        )
    )
    about = {"video": str(video), "frames": info.frames, "duration_s": info.duration_s}
    about |= {"width": info.width, "height": info.height}
    return _evaluation(result, found.header.env.reward_threshold, as_json, **about)


def export_command(
    checkpoint: CheckpointFile,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help=marked("The file to write."))],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help=marked("Format; by default the suffix decides.")
        ),
    ] = None,
    force: Force = False,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """Write a saved agent in another format."""
    from td3core.checkpoint import read_header

    # An empty name has no suffix, and is refused below.
    exporter = find_exporter(to, format_name) if to.name else None
    require_writable_name(
        to, overwrite=force, folder=exporter is not None and exporter.makes_folder
    )
    assert exporter is not None
    to = to.absolute()
    path = find_checkpoint(checkpoint, runs_dir)
    if exporter.makes_env:
        config = read_header(path).config
        require_class(config.numerics)
        obtain_consent(config.choice, given=trust_env)
    note = exporter.export(path, to)
    if not as_json:
        values: dict[str, Value] = {"format": exporter.name, "file": to}
        if note:
            log(Text("Exported as {format} to {file}: {note}", note=note, **values))
        else:
            log(Text("Exported as {format} to {file}", **values))
    said = {"note": note} if note else {}
    return CommandResult(result={"file": str(to), "format": exporter.name} | said)


def formats_help() -> str:
    """Return the end of the help of ``export``: a line for each format."""
    formats = (f"  {e.name} ({', '.join(e.suffixes)}): {e.about}" for e in EXPORTERS)
    # Typer keeps the line breaks of a paragraph that begins with \b.
    return "\n".join(("\n\n\b", tr("Formats:"), *formats))


def film_file(path: Path, *, overwrite: bool) -> Path:
    """Return the absolute path of a film to write.

    Raises:
        RequestError: it cannot be written, or its suffix is not a film format.
    """
    from td3core.exporters.film.files import require_film_suffix

    require_writable_name(path, overwrite=overwrite)
    require_film_suffix(path)
    return path.absolute()


def _return_in_words(
    result: "EvaluationResult", success: float | None, threshold: float | None
) -> Text:
    mean, n = plain_return(result.mean), len(result.returns)
    told = Text.counted(
        "return {mean} ± {std} over {n} episode",
        "return {mean} ± {std} over {n} episodes",
        n=n,
        mean=mean,
        std=plain_return(result.std),
    )
    if n == 1:
        # A single episode has no standard deviation.
        told = Text("return {mean} of 1 episode", mean=mean)
    if success is None:
        return told
    share = format_share(success)
    return Text("{told}, {share} reach {threshold:g}", told=told, share=share, threshold=threshold)


def _evaluation(
    result: "EvaluationResult", threshold: float | None, as_json: bool, **more: Any
) -> CommandResult:
    """Return the answer of an evaluating command; print it unless ``as_json``."""
    success, episodes = result.success(threshold), len(result.returns)
    if not as_json:
        print_result(_return_in_words(result, success, threshold))
    found = {"returns": result.returns, "mean": result.mean, "std": result.std}
    found |= {"episodes": episodes, "seed": result.seed, "lengths": result.lengths}
    found |= {"success": success, "reward_threshold": threshold}
    return CommandResult(result=found | more)
