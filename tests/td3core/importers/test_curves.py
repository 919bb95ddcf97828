"""Curves of stable-baselines3 and TensorBoard, as runs that comparisons show."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core.analysis.comparison import compare
from td3core.analysis.results import read_results
from td3core.cli import app
from td3core.config import EnvChoice
from td3core.errors import RequestError
from td3core.importers import importing, registry
from td3core.importers.curve_file import CurveFile
from td3core.protocol.events import Progress
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import list_runs, summarise
from td3core.runs.reader import RunReader
from tests.support.scripted import STEPS
from tests.td3core.helpers import finish
from tests.td3core.importers import foreign_files as files
from tests.td3core.training.resuming import contents, refused


def read(path: Path) -> CurveFile:
    found = registry.read(path)
    assert isinstance(found, CurveFile)
    return found


def event_file(folder: Path, *points: tuple[str, int, float]) -> Path:
    writer = pytest.importorskip("tensorboardX").SummaryWriter(str(folder))
    for tag, step, value in points:
        writer.add_scalar(tag, value, step)
    writer.close()
    (path,) = folder.glob("*tfevents*")
    return path


POINTS = (
    *(("rollout/ep_rew_mean", step, -1000.0 + step) for step in (200, 400, 600)),
    *(("eval/mean_reward", step, -500.0 + step) for step in (300, 600)),
    *(("train/actor_loss", step, step / 100) for step in (200, 400)),
    ("train/critic_loss", 400, 1.0),
)


def test_scalars_come_as_evaluations_episodes_and_losses(tmp_path: Path) -> None:
    found = read(event_file(tmp_path, *POINTS))
    assert [(p.env_steps, p.returns) for p in found.evaluations] == [
        (300, (-200.0,)),
        (600, (100.0,)),
    ]
    assert [(p.env_steps, p.episode_return) for p in found.episodes] == [
        (200, -800.0),
        (400, -600.0),
        (600, -400.0),
    ]
    assert found.training == ((200, {"actor_loss": 2.0}), (400, {"actor_loss": 4.0}))
    assert len(found.notes) == 2


def test_a_run_that_was_resumed_is_rewound(tmp_path: Path) -> None:
    tag = "charts/episodic_return"
    path = event_file(tmp_path, (tag, 100, 1.0), (tag, 200, 2.0), (tag, 150, 3.0), (tag, 300, 4.0))
    found = [(point.env_steps, point.episode_return) for point in read(path).episodes]
    assert found == [(100, 1.0), (150, 3.0), (300, 4.0)]


def test_a_changed_byte_is_refused_with_its_record(tmp_path: Path) -> None:
    path = event_file(tmp_path, *POINTS)
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(data)
    with pytest.raises(RequestError, match=r"cannot be imported: in record \d+, the check sum"):
        read(path)


def test_a_torn_end_is_left_out_and_said(tmp_path: Path) -> None:
    path = event_file(tmp_path, *POINTS)
    path.write_bytes(path.read_bytes()[:-3])
    found = read(path)
    assert len(found.evaluations) == 2
    assert any("ends within a record" in str(note) for note in found.notes)


def test_a_file_without_returns_names_its_tags(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"no curve of returns \(its tags: a/b, c\)"):
        read(event_file(tmp_path, ("c", 1, 1.0), ("a/b", 1, 1.0)))


def test_a_monitor_counts_steps_and_names_its_environment(tmp_path: Path) -> None:
    path = tmp_path / "0.monitor.csv"
    path.write_text(files.monitor([(-1000.0, 200, 1.5), (-800.0, 150, 3.0)]))
    found = read(path)
    assert [(p.env_steps, p.length, p.time_s) for p in found.episodes] == [
        (200, 200, 1.5),
        (350, 150, 3.0),
    ]
    assert found.env_id == "Pendulum-v1"


@pytest.mark.parametrize("torn", ["-50", "-50,2", "-50,200,4."])
def test_a_row_without_an_end_is_left_out_and_said(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "0.monitor.csv"
    path.write_text(files.monitor([(-1000.0, 200, 1.5)]) + torn)
    found = read(path)
    assert [point.env_steps for point in found.episodes] == [200]
    assert [str(note) for note in found.notes] == ["The file ends within a row, which is left out."]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("r,l,t\n1,2,3\n", "no description of a monitor"),
        ("#[]\nr,l,t\n1,2,3\n", "no description of a monitor"),
        ("#{}\nr,t\n1,3\n", "columns r, l and t are missing"),
        ("#{}\nr,l,t\n1,2,3\nnan,2,3\n", "row 2 is not the numbers of an episode"),
        ("#{}\nr,l,t\n1,0,3\n", "the episode of row 1 is too long"),
        ("#{}\nr,l,t\n1,x,3\n", "row 1 is not the numbers of an episode"),
        ("#{}\nr,l,t\n1,2,3\n#{}\nr,l,t\n1,2,3\n", "row 2 is not the numbers of an episode"),
        ("#{}\nr,l,t\n1,2\r,3\n", "the table is damaged"),
        ("#{}\nr,l,t\n" + "1" * 200_000 + ",2,3\n", "the table is damaged"),
        ("#{}\nr,l,t\n", "there is no episode"),
        ("#" + "[" * 100_000, "the first line is damaged"),
    ],
)
def test_a_monitor_that_is_none_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "monitor.csv").write_text(text)
    with pytest.raises(RequestError, match=words):
        read(tmp_path / "monitor.csv")


@pytest.mark.parametrize(
    ("steps", "results"),
    [
        ([40, 20], [[1.0], [2.0]]),
        ([20], [[1.0], [2.0]]),
        ([20, 40], [1.0, 2.0]),
        ([20, 40], [[1.0], [np.nan]]),
        ([20.5, 40.5], [[1.0], [2.0]]),
        (np.array([{}, {}]), [[1.0], [2.0]]),
    ],
)
def test_evaluations_that_make_no_sense_are_refused(
    tmp_path: Path, steps: Any, results: Any
) -> None:
    np.savez(tmp_path / "evaluations.npz", timesteps=steps, results=results)
    with pytest.raises(RequestError, match=r"evaluations.npz cannot be imported"):
        read(tmp_path / "evaluations.npz")


def test_imported_curves_are_compared_with_a_run_of_the_studio(
    tmp_path: Path, runs_dir: Path
) -> None:
    own = finish(runs_dir, steps=60, eval_interval=30).run
    found = importing.examine(event_file(tmp_path / "TD3_1", *POINTS))
    made = importing.import_to_run(found, EnvChoice(STEPS), lambda _: None, runs_dir)  # type: ignore[arg-type, return-value]
    assert made.run is not None
    results = [read_results(path) for path in (own, made.run)]
    groups = compare(results, "eval", ["run"]).groups
    assert len(groups) == 2
    theirs = next(each for each in results if each.path == made.run)
    assert [bool(each.imported) for each in results] == [False, True]
    assert theirs.evaluations[:, :2].tolist() == [[300.0, -200.0], [600.0, 100.0]]
    assert theirs.episodes[:, :2].tolist() == [[200.0, -800.0], [400.0, -600.0], [600.0, -400.0]]
    assert theirs.episodes[:, 2] == pytest.approx([0.0, 0.0, 0.0], abs=5.0)
    told = RunReader(made.run, tables=("training",)).drain(lambda: False)
    rows = np.concatenate([each.training for each in told if isinstance(each, Progress)])
    losses = rows[:, [0, TRAINING_COLUMNS.index("actor_loss")]]
    assert losses.tolist() == [[200.0, 2.0], [400.0, 4.0]]
    summary = next(summarise(run) for run in list_runs(runs_dir) if run.path == made.run)
    assert (summary.state, summary.best_eval_return) == ("finished", 100.0)
    assert summary.title.endswith("(TensorBoard)")


def imported_monitor(folder: Path, runs_dir: Path, **named: str) -> Path:
    """Return a run of the curves of a monitor."""
    path = folder / "0.monitor.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(files.monitor([(-1000.0, 200, 1.5), (-800.0, 150, 3.0)]))
    made = importing.import_to_run(
        importing.examine(path),
        EnvChoice("Pendulum-v1"),
        lambda _: None,  # type: ignore[arg-type, return-value]
        runs_dir,
        **named,
    )
    assert made.run is not None
    return made.run


def test_imported_curves_are_not_trained_on(tmp_path: Path, runs_dir: Path) -> None:
    run = imported_monitor(tmp_path, runs_dir)
    before = contents(run)
    said = f"{run.name} contains only curves, no agent."
    assert refused(run) == said
    assert refused(run, steps=600) == said
    assert {**contents(run), "lock": b""} == {**before, "lock": b""}
    assert summarise(RunDirectory.open(run)).curves_only


@pytest.mark.parametrize(
    "words",
    [
        ("resume",),
        ("resume", "--steps", "600"),
        ("verify",),
        ("eval",),
        ("export", "--to", "a.py"),
        ("film", "--out", "a.mp4"),
        ("branch",),
    ],
)
def test_commands_on_agents_say_that_imported_curves_have_none(
    tmp_path: Path,
    runs_dir: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    run = imported_monitor(tmp_path, runs_dir)
    assert app.main([words[0], str(run), *words[1:]]) == 2
    assert "contains only curves" in capsys.readouterr().err.strip().splitlines()[-1]


def test_curves_of_several_programs_are_compared_each_by_itself(
    tmp_path: Path, runs_dir: Path
) -> None:
    own = finish(runs_dir, "Pendulum-v1", steps=60, eval_interval=30).run
    runs = [own, *(imported_monitor(tmp_path / name, runs_dir) for name in ("PPO_1", "A2C_1"))]
    comparison = compare([read_results(run) for run in runs], "return")
    names = [each.name for each in comparison.groups]
    kind = "stable-baselines3 monitor"
    assert names[1:] == [f"{each}/0.monitor.csv ({kind})" for each in ("PPO_1", "A2C_1")]
    # Nothing is known of their settings.
    assert comparison.differing == ()
    assert [each.group.values("tau") for each in comparison.groups] == [
        "0.005",
        "unknown",
        "unknown",
    ]


def test_curves_are_pooled_once_they_are_given_a_group(tmp_path: Path, runs_dir: Path) -> None:
    runs = [
        imported_monitor(tmp_path / name, runs_dir, name=name, group=group)
        for name, group in (("PPO_1", "PPO"), ("PPO_2", "PPO"), ("A2C_1", ""))
    ]
    assert [RunDirectory.open(run).label().name for run in runs] == ["PPO_1", "PPO_2", "A2C_1"]
    comparison = compare([read_results(run) for run in runs], "return")
    found = {each.name: len(each.group.runs) for each in comparison.groups}
    assert found == {"PPO": 2, "A2C_1": 1}


@pytest.mark.parametrize("group", ["a/b", "..", "x" * 5000])
def test_a_name_that_cannot_be_that_of_a_group_is_refused(
    tmp_path: Path, runs_dir: Path, group: str
) -> None:
    with pytest.raises(RequestError, match="cannot name a group"):
        imported_monitor(tmp_path, runs_dir, group=group)
    assert not runs_dir.exists() or not [*runs_dir.iterdir()]


@pytest.mark.parametrize("option", ["--name", "--group"])
def test_a_file_alone_takes_neither_name_nor_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    words = [
        "import",
        str(tmp_path / "a.zip"),
        option,
        "x",
        "--out",
        str(tmp_path / "a.safetensors"),
    ]
    assert app.main(words) == 2
    assert "--out makes none" in capsys.readouterr().err


def test_an_environment_that_nothing_here_knows_is_said(tmp_path: Path, runs_dir: Path) -> None:
    path = tmp_path / "0.monitor.csv"
    path.write_text(files.monitor([(-1000.0, 200, 1.5)]))

    def notes(env_id: str) -> list[str]:
        made = importing.import_to_run(
            importing.examine(path),
            EnvChoice(env_id),
            lambda _: None,  # type: ignore[arg-type, return-value]
            runs_dir,
        )
        assert made.run is not None
        note = RunDirectory.open(made.run).label().note
        assert all(str(each) in note for each in made.notes)
        return [str(each) for each in made.notes]

    assert notes("NoSuchEnv-v9") == ["No environment called NoSuchEnv-v9 is known here."]
    # There is a run of it now.
    assert notes("NoSuchEnv-v9") == []
    assert notes("Pendulum-v1") == []
    assert notes("my_module:MyEnv") == []
