"""Films: their frames, duration and size, what they hold in memory, and what they leave behind."""

import json
import shutil
import weakref
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from td3core import checkpoint
from td3core.cli import app
from td3core.cli.film import command
from td3core.cli.film.film_options import Size
from td3core.errors import RequestError
from td3core.evaluation.evaluate import evaluate
from td3core.exporters.film import writer
from td3core.exporters.film.caption import Canvas, Caption
from td3core.exporters.film.growth import (
    FilmSettings,
    record_growth,
    scenes_of_files,
    scenes_of_run,
)
from td3core.exporters.film.instruments import InstrumentCanvas
from td3core.exporters.film.lettering import font, return_text
from td3core.exporters.film.numbers import play
from td3core.exporters.film.progress import FilmProgress
from td3core.exporters.film.side_by_side import ComparisonSettings, record_side_by_side
from td3core.exporters.film.writer import FilmWriter
from td3core.playing.compared import ComparedAgent
from td3core.runs.directory import RunDirectory
from tests.support.marks import release, slow
from tests.td3core.helpers import finish, write_checkpoint

PENDULUM = "Pendulum-v1"
Film = tuple[list[NDArray[np.uint8]], float, str]


def decode(path: Path) -> Film:
    """Return the frames of a film, its duration in seconds, and its codec."""
    with av.open(str(path)) as film:
        (stream,) = film.streams.video
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
        assert film.duration is not None
        return frames, film.duration / av.time_base, stream.codec_context.name


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ten checkpoints by step, and a best one."""
    runs = tmp_path_factory.mktemp("ten")
    values = {"steps": 200, "checkpoint_interval": 20, "eval_interval": 60, "eval_episodes": 1}
    return finish(runs, PENDULUM, **values).run


def film_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert app.main(["film", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_a_growth_film_shows_every_checkpoint_in_order_with_its_evaluated_episode(
    ten: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "growth.mp4"
    words = ("--out", str(target), "--max-seconds-per", "1", "--size", "320x240", "--seed", "3")
    told = film_of(capsys, str(ten), *words)
    shown = told["checkpoints"]
    best = checkpoint.read_header(RunDirectory.open(ten).best).counters.env_steps
    assert [each["env_steps"] for each in shown] == list(range(20, 201, 20))
    assert [each["env_steps"] for each in shown if each["best"]] == [best]
    # A second of each at 30 frames per second, half of it to read the return.
    frames, duration, codec = decode(target)
    assert (told["frames"], len(frames), codec) == (300, 300, "h264")
    assert duration == pytest.approx(10.0) == told["duration_s"]
    assert {frame.shape for frame in frames} == {(240, 320, 3)}
    assert [path.name for path in tmp_path.iterdir()] == ["growth.mp4"]
    assert not any(each["complete"] for each in shown)
    # Captions differ, and so do the pictures above them.
    strips = [frame[214:].astype(int) for frame in frames]
    assert all(np.abs(strips[at] - strips[at + 30]).max() > 60 for at in range(20, 270, 30))
    assert np.abs(frames[0][:200].astype(int) - frames[14][:200].astype(int)).max() > 60


@pytest.mark.slow
def test_a_growth_film_shows_agents_that_decide_more_often_at_the_same_even_speed(
    runs_dir: Path, tmp_path: Path
) -> None:
    values = {"steps": 100, "checkpoint_interval": 50, "keep_every": 1, "eval_interval": 50}
    run = finish(runs_dir, PENDULUM, env_args='{"action_repeat": "4, 2@60"}', **values).run
    opened = RunDirectory.open(run)
    scenes = scenes_of_files([opened.step_checkpoint(step) for step in (50, 100)])
    target, told = tmp_path / "growth.mp4", list[FilmProgress]()
    growth = record_growth(scenes, target, FilmSettings(size=(160, 160)), told.append)
    assert [each.lengths for each in growth.scenes] == [(50,), (100,)]
    assert [told[49].step / told[49].most, told[-1].step / told[-1].most] == [1, 1]
    second = [each for each in told if each.scene == 1]
    shown = [after.step for before, after in pairwise(second) if after.frames > before.frames]
    assert shown == [*range(2, 101, 2)]
    frames, duration, _ = decode(target)
    # Twice 200 frames of the pendulum at 30 a second, of which one in 4 is shown, and half a
    # second to read each return.
    assert (len(frames), duration) == (2 * (50 + 4), pytest.approx(2 * (200 / 30 + 4 / 7.5)))


@pytest.mark.slow
def test_a_film_of_chosen_checkpoints_measures_what_an_evaluation_measures(
    ten: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    captions: list[Caption] = []
    compose = Canvas.compose

    def told_of(canvas: Canvas, picture: NDArray[np.uint8], caption: Caption) -> Any:
        captions.append(caption)
        return compose(canvas, picture, caption)

    monkeypatch.setattr(Canvas, "compose", told_of)
    run = RunDirectory.open(ten)
    last, first = run.step_checkpoint(200), run.step_checkpoint(20)
    assert [scene.env_steps for scene in scenes_of_files([last, first])] == [200, 20]
    words = ("--out", str(tmp_path / "one.gif"), "--seed", "7", "--size", "160x160")
    (shown,) = film_of(capsys, str(last), *words)["checkpoints"]
    frames, duration, codec = decode(tmp_path / "one.gif")
    assert (len(frames), codec) == (200 + 15, "gif")
    assert duration == pytest.approx((200 + 15) / 30, abs=0.05)
    assert app.main(["eval", str(last), "--episodes", "1", "--seed", "7", "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert (shown["checkpoint"], shown["returns"]) == (str(last), evaluated["returns"])
    assert shown["lengths"] == [200]
    assert shown["complete"]
    # As the window writes it.
    assert captions[-1].right == f"Return {return_text(evaluated['returns'][0])}"
    assert "\N{MINUS SIGN}" in captions[-1].right


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many frames were held at each one written."""
    held: set[int] = set()
    most: list[int] = []
    write = FilmWriter.write

    def counting(self: FilmWriter, frame: NDArray[np.uint8]) -> None:
        if id(frame) not in held:
            held.add(id(frame))
            weakref.finalize(frame, held.discard, id(frame))
        write(self, frame)
        most.append(len(held))

    monkeypatch.setattr(FilmWriter, "write", counting)
    return most


@pytest.mark.slow
def test_no_frame_is_kept_however_long_the_film(ten: Path, tmp_path: Path, held: list[int]) -> None:
    settings = FilmSettings(most_s=1.0, size=(160, 160))
    record_growth(scenes_of_run(RunDirectory.open(ten))[:3], tmp_path / "a.mp4", settings)
    # The half second that the end of an episode stays is among them.
    assert len(held) == 3 * 30
    assert max(held) <= 2


@pytest.mark.release
def test_agents_side_by_side_play_the_same_episodes_as_an_evaluation_each_in_its_place(
    ten: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], held: list[int]
) -> None:
    run, target = RunDirectory.open(ten), tmp_path / "both.mp4"
    first, second = run.step_checkpoint(20), run.step_checkpoint(200)
    words = ("--side-by-side", "--push-at", "11", "--columns", "2", "--seed", "7")
    more = ("--speed", "2", "--out", str(target))
    told = film_of(capsys, str(first), str(second), *words, *more)
    shown = told["agents"]
    assert [each["name"] for each in shown] == ["step 20", "step 200", "step 20 · pushed"]
    for agent, each in zip((first, second), shown, strict=False):
        assert app.main(["eval", str(agent), "--episodes", "1", "--seed", "7", "--json"]) == 0
        assert each["returns"] == json.loads(capsys.readouterr().out)["returns"]
    assert shown[2]["returns"] != shown[0]["returns"]
    frames, duration, _ = decode(target)
    # 200 steps at 30 a second and half a second to read the returns, twice as fast.
    assert len(frames) == told["frames"] == 230
    assert duration == pytest.approx(230 / 60, abs=0.001)
    strip = 38
    assert frames[0].shape == (2 * (500 + strip) + 4, 2 * 500 + 4, 3)
    step = frames[4].astype(int)
    one, pushed = step[:500, :500], step[504 + strip : 1004 + strip, :500]
    assert np.abs(one - pushed).mean() < 1
    step = frames[30].astype(int)
    one, pushed = step[:500, :500], step[504 + strip : 1004 + strip, :500]
    assert np.abs(one - pushed).mean() > 1
    assert max(held) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["both.mp4"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--side-by-side",), "--side-by-side shows 2 to 4 agents, not 1."),
        (("--noise",), "--noise needs --side-by-side."),
        (("--side-by-side", "--size", "320x240"), "--size cannot be used with --side-by-side."),
        (("--tensorboard", "curves"), "--out cannot be used with --tensorboard."),
    ],
)
def test_options_of_the_other_kind_of_film_are_refused(
    ten: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: Any, sentence: str
) -> None:
    out = ("--out", str(tmp_path / "a.mp4"), "--json")
    assert app.main(["film", str(ten), *words, *out]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == sentence
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [*slow("a.mp4"), *release("a.gif")])
def test_an_interrupted_film_leaves_nothing_behind(ten: Path, tmp_path: Path, name: str) -> None:
    def interrupt(progress: FilmProgress) -> None:
        if progress.frames == 120:
            assert list(tmp_path.iterdir())
            raise KeyboardInterrupt

    scenes = scenes_of_run(RunDirectory.open(ten))
    with pytest.raises(KeyboardInterrupt):
        record_growth(scenes, tmp_path / name, FilmSettings(size=(160, 160)), report=interrupt)
    assert not list(tmp_path.iterdir())


def test_without_h264_a_film_is_mpeg4_and_without_that_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = np.full((50, 61, 3), 200, np.uint8)
    monkeypatch.setattr(writer, "ENCODERS", writer.ENCODERS[1:])
    with FilmWriter(tmp_path / "a.mp4", 25) as film:
        for _ in range(50):
            film.write(picture)
    frames, duration, codec = decode(tmp_path / "a.mp4")
    assert (len(frames), duration, codec, frames[0].shape) == (50, 2.0, "mpeg4", (50, 60, 3))
    monkeypatch.setattr(writer, "ENCODERS", ())
    with (
        pytest.raises(RequestError, match="cannot encode MP4"),
        FilmWriter(tmp_path / "b.mp4", 25) as f,
    ):
        f.write(picture)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.parametrize(
    ("name", "fps", "speed", "rate", "kept"),
    [
        ("a.mp4", 30, 2.0, 60, 1),
        ("a.mp4", 50, 4.0, 50, 4),
        ("a.mp4", 125, 1.0, 125, 1),
        ("a.mp4", 30, 0.25, Fraction(15, 2), 1),
        ("a.gif", 125, 1.0, Fraction(125, 4), 4),
        ("a.mp4", 0.25, 1.0, Fraction(1, 4), 1),
        ("a.gif", 0.25, 1.0, Fraction(1, 4), 1),
    ],
)
def test_a_faster_film_leaves_out_what_no_player_shows_in_time(
    tmp_path: Path, name: str, fps: float, speed: float, rate: Fraction, kept: int
) -> None:
    with FilmWriter(tmp_path / name, fps, speed) as film:
        for at in range(120):
            film.write(np.full((16, 16, 3), at, np.uint8))
    frames, duration, _ = decode(tmp_path / name)
    assert len(frames) == film.info().frames == 120 // kept
    # A GIF counts in hundredths of a second.
    assert duration == pytest.approx(120 / fps / speed, abs=0.02)
    assert film.fps == pytest.approx(float(rate))


def test_an_animated_webp_has_every_frame_in_its_time_and_plays_on(tmp_path: Path) -> None:
    with FilmWriter(tmp_path / "a.webp", 25) as film:
        for at in range(0, 200, 20):
            film.write(np.full((16, 22, 3), at, np.uint8))
    with Image.open(tmp_path / "a.webp") as picture:
        shown = []
        for frame in ImageSequence.Iterator(picture):
            level = np.asarray(frame.convert("RGB"), float).mean()
            shown.append((frame.info["duration"], round(level, -1)))
        assert shown == [(40, at) for at in range(0, 200, 20)]
        assert (picture.size, picture.info["loop"]) == ((22, 16), 0)


def test_the_font_of_films_has_what_names_and_returns_are_written_with() -> None:
    assert return_text(-1234.56) == "\N{MINUS SIGN}1,234.6"
    assert return_text(-0.01) == "0.0"
    missing = bytes(font(20).getmask("\ue123"))
    for sign in "\N{MINUS SIGN}σγτ·×":
        assert bytes(font(20).getmask(sign)) != missing, sign


@pytest.mark.parametrize(("width", "height"), [(600, 400), (84, 84), (480, 480), (61, 401)])
def test_a_caption_fits_below_any_picture(width: int, height: int) -> None:
    picture = np.full((height, width, 3), 255, np.uint8)
    canvas = Canvas(picture)
    wide = Caption(left="Step 10,000,000, episode 12", right="Return -12,345.6", mark="best")
    frame = canvas.compose(picture, wide)
    rows, columns = frame.shape[:2]
    assert rows % 2 == columns % 2 == 0
    strip = frame[-24:].astype(int)
    lit = np.flatnonzero((strip.max(axis=2) > 150).any(axis=0))
    # All is drawn, none beyond the margin, and the two texts do not touch.
    assert lit[0] >= 4
    assert lit[-1] < columns - 4
    assert np.diff(lit).max() >= 6
    assert (canvas.compose(picture, Caption(left="", right=""))[-24:].max()) < 50


def test_the_help_of_a_film_says_which_sizes_it_takes() -> None:
    (option,) = Size.__metadata__
    assert f"even numbers from {command.LEAST_SIZE} to {command.MOST_SIZE}" in option.help


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "film needs a file, --out FILE, or --tensorboard DIR."),
        (["--tensorboard", "a", "--speed", "2"], "--speed cannot be used with --tensorboard."),
        (["--tensorboard", "a", "--seed", "2"], "--seed cannot be used with --tensorboard."),
        (["--out", "a.mov"], "use .mp4, .gif or .webp"),
        (["--out", "a.mp4", "--size", "640"], "two even numbers from 160 to 7680"),
        (["--out", "a.mp4", "--size", "641x480"], "such as 1280x720, not '641x480'"),
    ],
)
def test_a_film_that_cannot_be_made_is_refused_before_it_starts(
    ten: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert app.main(["film", str(ten), *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_film_shows_one_environment(
    ten: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_checkpoint(tmp_path / "other.safetensors")
    mixed = [str(RunDirectory.open(ten).last), str(other)]
    assert app.main(["film", *mixed, "--out", str(tmp_path / "a.mp4")]) == 2
    assert "a film shows one environment" in capsys.readouterr().err
    folders = [str(ten), str(ten), "--out", str(tmp_path / "a.mp4")]
    assert app.main(["film", *folders]) == 2
    assert "give one run, or several checkpoints" in capsys.readouterr().err


@pytest.mark.slow
def test_agents_of_one_environment_are_filmed_together_however_often_they_decide(
    runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def agent(args: str) -> str:
        return str(finish(runs_dir, PENDULUM, steps=20, env_args=args).last_checkpoint)

    plain = agent('{"max_episode_steps": 8}')
    often = agent('{"action_repeat": "4, 2@10", "max_episode_steps": 8}')
    light = agent('{"max_episode_steps": 8, "g": 1.6}')
    film = ("--out", str(tmp_path / "a.mp4"))
    told = film_of(capsys, plain, often, "--side-by-side", *film)
    assert [each["lengths"] for each in told["agents"]] == [[8], [4]]
    steps = list[FilmProgress]()
    compared = [ComparedAgent(Path(path)) for path in (often, plain)]
    record_side_by_side(compared, Path(film[1]), ComparisonSettings(), steps.append)
    assert [(each.step, each.most) for each in steps] == [(step, 4) for step in range(1, 5)]
    for kind in ([], ["--side-by-side"]):
        assert app.main(["film", plain, light, *kind, *film, "--force", "--json"]) == 2
        assert json.loads(capsys.readouterr().out)["error"] == (
            'last.safetensors is an agent for Pendulum-v1 {"max_episode_steps": 8, "g": 1.6}, not'
            ' for Pendulum-v1 {"max_episode_steps": 8}; a film shows one environment.'
        )


def test_the_numbers_of_a_film_are_those_of_the_episode_that_an_evaluation_measures(
    ten: Path,
) -> None:
    source = checkpoint.load(RunDirectory.open(ten).last)
    gamma = source.header.tunables.gamma
    numbers = play(source, 5, 0)
    measured = evaluate(source.policy(), PENDULUM, episodes=1, seed=5)
    critic = source.critic()
    assert measured is not None
    assert critic is not None
    assert numbers.discounted is not None
    assert numbers.total[-1] == measured.returns[0]
    powers = gamma ** np.arange(len(numbers.reward) - 7)
    assert numbers.discounted[7] == pytest.approx(float(powers @ numbers.reward[7:]))
    expected = critic(numbers.obs[7], numbers.action[7]).min()
    assert numbers.min_q[7] == pytest.approx(expected, abs=1e-5)
    picture = np.full((40, 60, 3), 200, np.uint8)
    canvas = InstrumentCanvas(picture, numbers)
    early, late = canvas.compose(picture, 1), canvas.compose(picture, 150)
    assert early.shape == late.shape == (372 + 234, 560, 3)
    assert (early[:372] == 200).all()
    assert (early != late).any()


def test_a_checkpoint_replaced_by_its_run_during_the_film_is_left_out(
    ten: Path, tmp_path: Path
) -> None:
    run = RunDirectory.open(shutil.copytree(ten, tmp_path / "run"))
    for step in (180, 200):
        run.step_checkpoint(step).unlink()
    run.best.unlink()
    *_, kept, last = scenes_of_run(run)
    assert (last.path, last.env_steps) == (run.last, 200)

    def train_on(progress: FilmProgress) -> None:
        found = checkpoint.load(run.last)
        counters = replace(found.header.counters, env_steps=500)
        checkpoint.save(run.last, replace(found.header, counters=counters), found.tensors)

    settings = FilmSettings(most_s=0.05)
    growth = record_growth([kept, last], tmp_path / "a.mp4", settings, train_on)
    assert [each.scene for each in growth.scenes] == [kept]
    with pytest.raises(RequestError, match="no longer there"):
        record_growth([last], tmp_path / "b.mp4", settings)
    assert not (tmp_path / "b.mp4").exists()
