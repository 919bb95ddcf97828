"""The options of the command ``film``."""

from pathlib import Path
from typing import Annotated

import typer

from td3core.cli.options import given_path
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
    Path | None, typer.Option("--out", help=marked("The MP4, GIF or WebP file to write."))
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
    int, typer.Option("--episodes-per", min=1, help=marked("Episodes of each checkpoint."))
]
MostSeconds = Annotated[
    float | None,
    typer.Option(
        "--max-seconds-per",
        metavar="S",
        min=0.1,
        max=3600.0,
        help=marked("Seconds of film for each checkpoint at most. Default: whole episodes."),
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
    typer.Option(
        "--push-at", metavar="STEP", min=1, help=marked("Side by side: push it here, too.")
    ),
]
Columns = Annotated[
    int,
    typer.Option(
        "--columns", min=0, max=4, help=marked("Side by side: pictures in a row; 0: as fits.")
    ),
]
Speed = Annotated[
    float,
    typer.Option(
        "--speed", min=0.1, max=16.0, help=marked("Side by side: how many times as fast.")
    ),
]
