"""The options of the command ``film``."""

from pathlib import Path
from typing import Annotated

import typer

from td3core.cli.options import given_path, limited
from td3core.text import marked

Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN",
        parser=given_path,
        help=marked("A run (all its checkpoints), or several checkpoints in order."),
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help=marked("The MP4, GIF or WebP file to write.")),
]
Tensorboard = Annotated[
    Path | None,
    typer.Option(
        "--tensorboard",
        metavar="DIR",
        parser=given_path,
        help=marked("Show the best agent of each run in TensorBoard, instead of a file."),
    ),
]
EpisodesPer = Annotated[
    int, limited("--episodes-per", "N", marked("Episodes of each checkpoint."), low=1)
]
MostSeconds = Annotated[
    float | None,
    limited(
        "--max-seconds-per",
        "SECONDS",
        marked("Seconds of film for each checkpoint at most. Default: whole episodes."),
        float,
        low=0.1,
        high=3600,
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="WxH",
        help=marked("Size of the film, such as 1280x720: even numbers from 160 to 7680."),
    ),
]
SideBySide = Annotated[
    bool,
    typer.Option(
        "--side-by-side",
        help=marked(
            "Show two to four agents side by side, in lockstep; for a run, its best agent."
        ),
    ),
]
Noise = Annotated[
    bool,
    typer.Option("--noise", help=marked("Side by side: the first with exploration noise, too.")),
]
Push = Annotated[
    bool, typer.Option("--push", help=marked("Side by side: the first after a push, too."))
]
PushAt = Annotated[
    list[int] | None,
    limited("--push-at", "STEP", marked("Side by side: push it here, too."), low=1),
]
Columns = Annotated[
    int,
    limited(
        "--columns",
        "N",
        marked("Side by side: pictures in a row, at most 4; 0: as fits."),
        low=0,
        high=4,
    ),
]
Speed = Annotated[
    float,
    limited(
        "--speed",
        "FACTOR",
        marked("Side by side: how many times as fast."),
        float,
        low=0.1,
        high=16,
    ),
]
