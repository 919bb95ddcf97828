"""How a sweep goes: trials, seeds, pruning, failures, kills; without any training."""

import contextlib
import io
import math
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from td3core.cli import app
from td3core.cli.experiments.sweep_progress import SweepProgress
from td3core.config import follows
from td3core.errors import RequestError
from td3core.experiments.sweeps import launch
from td3core.experiments.sweeps.executor import Outcome, RunEnd
from td3core.experiments.sweeps.file import parse
from td3core.experiments.sweeps.folder import SweepFolder, SweepState
from td3core.experiments.sweeps.objective import value_of
from td3core.experiments.sweeps.spec import SweepSpec, with_module
from td3core.experiments.sweeps.state import read_sweep, state_of
from td3core.experiments.sweeps.study import SweepStudy
from td3core.experiments.sweeps.trial import LiveTrial, TrialRun
from td3core.protocol.control import Control
from td3core.protocol.trial_status import TrialStatus
from td3core.runs.directory import RunDirectory
from td3core.runs.lock import RunLock
from td3core.runs.metadata import write_ending
from td3core.text import NO_TEXT, Text
from tests.support.marks import release, slow
from tests.td3core.analysis.many_runs import write_run
from tests.td3core.experiments.sweeps import scripted_runs
from tests.td3core.experiments.sweeps.scripted_runs import (
    TEXT,
    Killed,
    ScriptedExecutor,
    add_evaluation,
    conduct,
    rising,
    state_on_disk,
)

RUNNER = "td3core.experiments.sweeps.runner"


def settings_of(state: SweepState) -> list[dict[str, object]]:
    return [dict(trial.settings) for trial in state.trials]


@pytest.mark.slow
def test_the_best_trial_is_the_one_with_the_highest_objective(runs_dir: Path) -> None:
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=6)
    assert state.count(TrialStatus.DONE) == 6
    assert state.best is not None
    best = min(abs(trial.settings["tau"] - 0.3) for trial in state.trials)
    assert state.best.value == pytest.approx(-best)
    run = RunDirectory.open(runs_dir / state.best.runs[0])
    assert run.first_tunables.tau == state.best.settings["tau"]
    assert run.label().name == f"scripted, trial {state.best.number}"
    assert state_on_disk(runs_dir)["running"] is False


@pytest.mark.slow
def test_importance_is_told_once_the_best_tenth_of_the_trials_are_two(tmp_path: Path) -> None:
    with SweepStudy(tmp_path / "study.db", parse(TEXT.format(trials=20, more=""), "s")) as study:
        for number in range(20):
            assert study.importance() == {}
            study.complete(number, study.ask().settings["tau"])
        importance = study.importance()
    assert [*importance] == ["tau", "gamma"]
    assert sum(importance.values()) == pytest.approx(1.0)


@pytest.mark.slow
def test_a_sweep_says_how_many_trials_its_importance_lacks(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conduct(runs_dir, ScriptedExecutor(rising), trials=2)
    words = ["sweep", "show", "scripted", "--runs-dir", str(runs_dir)]
    assert app.main(words) == 0
    told = "importance  Shown after 20 completed trials; there are 2 so far."
    assert told in capsys.readouterr().out
    monkeypatch.setattr("td3core.experiments.sweeps.study.FEWEST_TRIALS", 2)
    assert app.main(words) == 0
    shown = capsys.readouterr().out
    assert "importance  How much the best tenth of 2 trials differ" in shown
    assert "importance  tau " in shown


def test_the_objective_is_the_mean_over_the_seeds_of_a_trial(runs_dir: Path) -> None:
    executor = ScriptedExecutor(lambda run: [0.0, 10.0 + run.config.seed], slots=3)
    state, _ = conduct(runs_dir, executor, trials=2, more="seeds = 3\nobjective = 'area'")
    assert executor.started == [f"scripted_t00{t}_s{s}" for t in (0, 1) for s in (0, 1, 2)]
    assert [trial.value for trial in state.trials] == [2.75, 2.75]


def test_the_area_of_a_run_that_ends_during_its_warm_up_ends_with_the_run() -> None:
    assert value_of("area", [(500, -1000.0)], warm_up=(1000, -1400.0)) == pytest.approx(-1400)


@pytest.mark.parametrize(("warm_up", "areas"), [(True, (-765, -1195)), (False, (-720, -370))])
def test_the_area_begins_at_step_0_with_the_returns_of_the_warm_up(
    runs_dir: Path, warm_up: bool, areas: tuple[float, ...]
) -> None:
    """The second learns late; the first is better at both steps at which both are evaluated."""
    curves = {
        50: [(100, -1200.0), (200, -900.0), (300, -600.0), (400, -300.0), (500, 0.0)],
        350: [(400, -400.0), (500, -100.0)],
    }
    for (starts, curve), area in zip(curves.items(), areas, strict=True):
        returns = [-1500.0 if step <= starts else -50.0 for step in range(10, 501, 10)]
        path = write_run(runs_dir, [], returns if warm_up else [], learning_starts=starts)
        run = TrialRun(seed=0, last_step=500, learning_starts=starts, path=path)
        trial = LiveTrial(number=0, settings={}, runs=[run], began=0.0)
        for step, mean in curve:
            add_evaluation(path, step, mean)
        assert run.read()
        assert trial.value("area") == pytest.approx(area)
        # What the pruner is told is the same at the last step.
        assert trial.new_values("area")[-1] == (500, trial.value("area"))
        assert trial.value("last_eval") == curve[-1][1]


def test_the_first_episode_stands_for_a_warm_up_that_ends_before_it(runs_dir: Path) -> None:
    path = write_run(runs_dir, [0.0], [-1500.0, -50.0])
    run = TrialRun(seed=0, last_step=100, learning_starts=5, path=path)
    assert run.read()
    assert run.value("area") == pytest.approx((-1500 * 5 - 750 * 95) / 100)


@pytest.mark.parametrize("sampler", [*slow("tpe"), *release("random", "cmaes")])
def test_a_sweep_with_one_job_repeats(runs_dir: Path, sampler: str) -> None:
    more = f"sampler = '{sampler}'"
    first, _ = conduct(runs_dir / "a", ScriptedExecutor(rising), trials=10, more=more)
    second, _ = conduct(runs_dir / "b", ScriptedExecutor(rising), trials=10, more=more)
    assert settings_of(first) == settings_of(second)
    other, _ = conduct(
        runs_dir / "c", ScriptedExecutor(rising), trials=1, more=f"{more}\nsampler_seed = 1"
    )
    assert settings_of(other)[0] != settings_of(first)[0]


@pytest.mark.parametrize("sampler", ["tpe", "random", "cmaes"])
def test_a_range_is_searched_to_its_end_however_fine_its_steps_are(
    tmp_path: Path, sampler: str
) -> None:
    text = TEXT.format(trials=1, more=f"sampler = '{sampler}'").replace(
        "tau = { low = 0.0, high = 1.0 }",
        "tau = { low = 0.0, high = 1.0, step = 0.000001 }\n"
        "buffer_size = { low = 5000, high = 999999, step = 2 }",
    )
    with SweepStudy(tmp_path / "study.db", parse(text, "fine")) as study:
        drawn = [study.ask().settings for _ in range(8)]
    for name, low, step in (("tau", 0.0, 1e-6), ("buffer_size", 5000, 2)):
        values = [each[name] for each in drawn]
        assert len(set(values)) == 8, name
        assert [(value - low) / step for value in values] == pytest.approx(
            [round((value - low) / step) for value in values]
        )


def test_steps_that_do_not_reach_the_end_of_a_range_cause_no_warning(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    text = TEXT.format(trials=1, more="").replace(
        "low = 0.0, high = 1.0 }", "low = 0.0, high = 0.35, step = 0.1 }"
    )
    SweepStudy(tmp_path / "study.db", parse(text, "coarse")).close()
    assert not recwarn.list


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The state of a sweep that was never killed."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    return conduct(folder, ScriptedExecutor(rising), more="pruning = 'median'")[0]


@pytest.mark.parametrize("kill_at", [*slow(6, 13), *release(2, 7)])
def test_a_sweep_that_was_killed_continues_as_if_nothing_had_happened(
    runs_dir: Path, whole: Any, kill_at: int
) -> None:
    killed = ScriptedExecutor(rising, kill_at=kill_at)
    with pytest.raises(Killed):
        conduct(runs_dir, killed, more="pruning = 'median'")
    rest = ScriptedExecutor(rising)
    state, _ = conduct(runs_dir, rest, more="pruning = 'median'")
    assert settings_of(state) == settings_of(whole)
    assert [t.value for t in state.trials] == [t.value for t in whole.trials]
    assert len(set(killed.started + rest.started)) == 4
    # At most the run that was under way has two starts.
    assert len(killed.started + rest.started) <= 5


def test_a_killed_sweep_that_uses_settings_of_an_earlier_version_continues(runs_dir: Path) -> None:
    space = """[space]
lr_final = {{ low = 0.1, high = 0.9 }}
eval_beside = {{ choices = [true] }}
"""
    earlier = TEXT.partition("[space]")[0] + "background_evaluation = false\n" + space
    with pytest.raises(Killed):
        conduct(runs_dir, ScriptedExecutor(rising, kill_at=3), trials=2, template=earlier)
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=2, template=earlier)
    assert [trial.reason for trial in state.trials] == [NO_TEXT, NO_TEXT]
    run = RunDirectory.open(runs_dir / "scripted_t000_s0")
    assert run.config.background_evaluation is True
    assert follows(run.first_tunables, "actor_lr")


@pytest.mark.slow
def test_a_complete_sweep_trains_nothing_again_and_grows_with_more_trials(runs_dir: Path) -> None:
    conduct(runs_dir, ScriptedExecutor(rising), trials=3)
    again = ScriptedExecutor(rising)
    state, _ = conduct(runs_dir, again, trials=3)
    assert (again.started, len(state.trials)) == ([], 3)
    state, _ = conduct(runs_dir, again, trials=5)
    assert (len(again.started), len(state.trials)) == (2, 5)


def test_another_sweep_of_the_same_name_is_refused(runs_dir: Path) -> None:
    conduct(runs_dir, ScriptedExecutor(rising), trials=1)
    with pytest.raises(RequestError, match="another objective"):
        conduct(runs_dir, ScriptedExecutor(rising), more="objective = 'area'")
    (runs_dir / "sweeps" / "scripted" / "sweep.toml").unlink()
    with pytest.raises(RequestError, match="runs of an earlier sweep"):
        conduct(runs_dir, ScriptedExecutor(rising))


def test_runs_of_another_sweep_whose_name_begins_alike_are_not_its_own(runs_dir: Path) -> None:
    text = TEXT.format(trials=1, more="").replace("Pendulum-v1", "Own-v0")
    other = with_module(parse(text, "own_tqc"), "my_module")
    values = {"tau": 0.5, "gamma": 0.9, "numerics": "avx2"}
    SweepFolder(runs_dir, "own_tqc").make_run(0, 0, *other.run_settings(values, 0), "")
    folder, spec = SweepFolder(runs_dir, "own"), parse(text, "own")
    for _ in range(2):
        # Neither of an earlier sweep of this name, nor of this one with another module.
        folder.begin(text, spec)
    assert folder.class_of_runs() == ""


def test_a_sweep_of_an_environment_of_a_module_continues_with_the_same_module(
    runs_dir: Path,
) -> None:
    folder = SweepFolder(runs_dir, "own")
    text = TEXT.format(trials=1, more="").replace("Pendulum-v1", "Own-v0")
    spec = with_module(parse(text, "own"), "my_module")
    for _ in range(2):
        # Killed before its first run, too.
        folder.begin(text, spec)
    folder.make_run(0, 0, *spec.run_settings({"tau": 0.5, "gamma": 0.9}, 0), "")
    folder.begin(text, spec)
    assert folder.spec() == spec
    with pytest.raises(RequestError, match="another environment"):
        folder.begin(text, with_module(parse(text, "own"), "another_module"))


@pytest.mark.parametrize("pruning", slow("median", "asha"))
def test_a_hopeless_trial_is_stopped_and_marked(runs_dir: Path, pruning: str) -> None:
    def curve(run: RunDirectory) -> Sequence[float]:
        good = int(run.path.name.split("_t")[1][:3]) < 5
        return [10.0, 20.0, 30.0, 40.0] if good else [-10.0, -20.0, -30.0, -40.0]

    executor = ScriptedExecutor(curve)
    state, _ = conduct(runs_dir, executor, trials=7, more=f"pruning = '{pruning}'")
    assert state.trials[6].state is TrialStatus.PRUNED
    assert "scripted_t006_s0" in executor.stopped
    assert str(state.trials[6].reason).startswith("pruned at step ")
    run = RunDirectory.open(runs_dir / "scripted_t006_s0")
    assert len(run.evaluations()) < 4
    assert state.trials[6].env_steps == 1_000 * len(run.evaluations())
    assert read_sweep(SweepFolder(runs_dir, "scripted")).trials == state.trials
    assert "Pruned at step" in run.label().note
    assert run.ending().stopped == "user"


@pytest.mark.slow
def test_a_trial_is_not_pruned_at_its_last_evaluation(runs_dir: Path) -> None:
    def curve(run: RunDirectory) -> Sequence[float]:
        return [10.0, 20.0, 30.0, -40.0 if "_t005_" in run.path.name else 40.0]

    executor = ScriptedExecutor(curve)
    state, _ = conduct(runs_dir, executor, trials=6, more="pruning = 'median'")
    assert (state.trials[5].state, state.trials[5].value) == (TrialStatus.DONE, -40.0)
    assert executor.stopped == []


@pytest.mark.slow
def test_a_trial_is_pruned_by_its_evaluations_though_a_kill_came_before_they_were_judged(
    runs_dir: Path,
) -> None:
    def curve(run: RunDirectory) -> Sequence[float]:
        return [-10.0] * 4 if "_t005_" in run.path.name else [10.0] * 4

    class KilledAtItsEnd(ScriptedExecutor):
        def wait(self, timeout_s: float) -> list[RunEnd]:
            while not super().wait(timeout_s):
                pass
            raise Killed

    pruning = "pruning = 'median'"
    conduct(runs_dir, ScriptedExecutor(curve), trials=5, more=pruning)
    with pytest.raises(Killed):
        conduct(runs_dir, KilledAtItsEnd(curve), trials=6, more=pruning)
    rest = ScriptedExecutor(curve)
    state, _ = conduct(runs_dir, rest, trials=6, more=pruning)
    assert rest.started == []
    assert str(state.trials[5].reason) == "pruned at step 1,000"


def halving(settings: str, searched: str = "") -> SweepSpec:
    """Return a random search that prunes by successive halving."""
    text = (
        "environment = 'Pendulum-v1'\nsteps = 100_000\nsampler = 'random'\npruning = 'asha'\n"
        f"[settings]\n{settings}\n[space]\ntau = {{ low = 0.0, high = 1.0 }}\n{searched}\n"
    )
    return parse(text, "halved")


@pytest.mark.parametrize(
    ("settings", "searched"),
    [
        ("learning_starts = 2_500\neval_interval = 1_000", ""),
        ("learning_starts = 2_500", "eval_interval.choices = [10, 1_000]"),
        ("eval_interval = 1_000", "learning_starts = { low = 100, high = 2_500 }"),
    ],
)
@pytest.mark.slow
def test_successive_halving_keeps_the_best_third_at_the_first_evaluation(
    tmp_path: Path, settings: str, searched: str
) -> None:
    values = [5.0, 9.0, 7.0, 1.0, 8.0, 2.0, 6.0, 8.5, 3.0]
    with SweepStudy(tmp_path / "study.db", halving(settings, searched)) as study:
        for count, value in enumerate(values, start=1):
            record = study.ask()
            best = sorted(values[:count])[-max(count // 3, 1) :]
            assert study.report(record.number, 3_000, value) is (value not in best), count


def test_successive_halving_prunes_no_trial_at_the_end_of_its_warm_up(tmp_path: Path) -> None:
    spec = halving("learning_starts = 3_000\neval_interval = 1_000")
    with SweepStudy(tmp_path / "study.db", spec) as study:
        for value in (9.0, 5.0):
            number = study.ask().number
            assert not study.report(number, 3_000, value)
            assert study.report(number, 4_000, value) is (value == 5.0)


@pytest.mark.slow
def test_a_grid_ends_when_every_combination_was_tried(runs_dir: Path) -> None:
    text = (
        "environment='Pendulum-v1'\nsteps=2000\nsampler='grid'\ntrials=99\njobs=1\n"
        "[settings]\nlearning_starts=100\neval_interval=1000\n"
        "[space]\ntau={low=0.0,high=0.5,step=0.25}\nactor_hidden={choices=[[8],[8,8]]}\n"
    )
    from td3core.experiments.sweeps.file import parse
    from td3core.experiments.sweeps.runner import SweepRunner
    from td3core.experiments.sweeps.study import SweepStudy

    spec = parse(text, "grid")
    folder = SweepFolder(runs_dir, "grid")
    folder.begin(text, spec)
    with SweepStudy(folder.study_file, spec) as study:
        executor = ScriptedExecutor(rising)
        state = SweepRunner(spec, folder, study, executor, Control()).run()
    tried = {(t.settings["tau"], tuple(t.settings["actor_hidden"])) for t in state.trials}
    assert tried == {(tau, hidden) for tau in (0.0, 0.25, 0.5) for hidden in ((8,), (8, 8))}
    assert (len(state.trials), state.wanted) == (6, 6)


def test_a_trial_has_no_value_of_a_setting_that_its_algorithm_fixes(tmp_path: Path) -> None:
    text = (
        "environment = 'Pendulum-v1'\nsteps = 2_000\nsampler = 'grid'\n[space]\n"
        "algorithm.choices = ['td3', 'ddpg']\npolicy_delay = { low = 1, high = 2 }\n"
    )
    with SweepStudy(tmp_path / "study.db", parse(text, "both")) as study:
        tried = [study.settings_of(study.ask()).settings for _ in range(4)]
    assert sorted(map(str, tried)) == sorted(
        map(
            str,
            [
                {"algorithm": "td3", "policy_delay": 1},
                {"algorithm": "td3", "policy_delay": 2},
                *[{"algorithm": "ddpg"}] * 2,
            ],
        )
    )


@pytest.mark.slow
def test_a_run_that_cannot_be_read_fails_its_trial_and_the_sweep_goes_on(runs_dir: Path) -> None:
    def damage(run: RunDirectory) -> None:
        (run.path / "run.toml").write_text("")

    with pytest.raises(Killed):
        conduct(runs_dir, ScriptedExecutor(rising, kill_at=3), trials=3)
    damage(RunDirectory.open(runs_dir / "scripted_t000_s0"))

    class Damaging(ScriptedExecutor):
        def wait(self, timeout_s: float) -> list[RunEnd]:
            ends = super().wait(timeout_s)
            for run in list(self.training):
                if run.name == "scripted_t001_s0" and self._waits == 2:
                    damage(RunDirectory.open(run))
            return ends

    state, _ = conduct(runs_dir, Damaging(rising), trials=3)
    failed, done = TrialStatus.FAILED, TrialStatus.DONE
    assert [trial.state for trial in state.trials] == [failed, failed, done]
    for trial in state.trials[:2]:
        assert f"{trial.runs[0]}/run.toml cannot be read" in str(trial.reason)


# Failures ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_half_the_trials_may_fail(runs_dir: Path) -> None:
    executor = ScriptedExecutor(rising)
    broken = Outcome(stopped="failed", message=Text("The environment broke at step 7."))
    executor.outcomes = {f"scripted_t00{number}_s0": broken for number in (0, 2, 4)}
    state, runner = conduct(runs_dir, executor, trials=6)
    assert (state.count(TrialStatus.FAILED), state.count(TrialStatus.DONE)) == (3, 3)
    assert str(state.trials[2].reason) == "The environment broke at step 7."
    assert not runner.failed
    assert read_sweep(SweepFolder(runs_dir, "scripted")).trials == state.trials


def test_a_trial_that_failed_has_the_steps_of_its_runs(runs_dir: Path) -> None:
    executor = ScriptedExecutor(lambda run: rising(run)[run.config.seed :], slots=2)
    executor.outcomes = {"scripted_t000_s1": Outcome(stopped="failed", message=Text("It broke."))}
    state, _ = conduct(runs_dir, executor, trials=2, more="seeds = 2")
    runs = [RunDirectory.open(runs_dir / name) for name in state.trials[0].runs]
    assert state.trials[0].env_steps == sum(run.evaluations()[-1][0] for run in runs)
    assert state.trials[1].env_steps == 8_000


def test_a_trial_pruned_by_an_earlier_version_has_the_steps_until_then(tmp_path: Path) -> None:
    spec = parse(TEXT.format(trials=1, more=""), "earlier")
    with SweepStudy(tmp_path / "study.db", spec) as study:
        study.ask()
        study.report(0, 2_000, 1.0)
        assert study.trials()[0].env_steps == 2_000


@pytest.mark.slow
def test_a_sweep_whose_first_trials_all_fail_gives_up(runs_dir: Path) -> None:
    executor = ScriptedExecutor(rising)
    broken = Outcome(stopped="failed", message=Text("No such file."))
    executor.outcomes = {f"scripted_t{number:03d}_s0": broken for number in range(20)}
    state, runner = conduct(runs_dir, executor, trials=20)
    assert runner.failed
    assert len(state.trials) == 5
    assert str(state.message) == "All of the first 5 trials failed; the last one: No such file."


@pytest.mark.slow
def test_a_sweep_that_gave_up_can_be_continued_once_the_reason_is_gone(runs_dir: Path) -> None:
    broken = Outcome(stopped="failed", message=Text("No space left on device."))
    names = [f"scripted_t{number:03d}_s0" for number in range(12)]
    for failed in (5, 10):
        executor = ScriptedExecutor(rising)
        executor.outcomes = dict.fromkeys(names, broken)
        state, runner = conduct(runs_dir, executor, trials=12)
        assert runner.failed
        assert state.count(TrialStatus.FAILED) == failed
        assert f"All of the first {failed} trials failed" in str(state.message)
    state, runner = conduct(runs_dir, ScriptedExecutor(rising), trials=12)
    assert not runner.failed
    assert (state.count(TrialStatus.FAILED), state.count(TrialStatus.DONE)) == (10, 2)


def test_a_complete_sweep_without_a_result_has_failed(runs_dir: Path) -> None:
    broken = Outcome(stopped="failed", message=Text("It broke."))
    executor = ScriptedExecutor(rising)
    executor.outcomes = {f"scripted_t00{number}_s0": broken for number in range(2)}
    for _ in range(2):
        _, runner = conduct(runs_dir, executor, trials=2)
        assert runner.failed


@pytest.mark.slow
def test_a_worker_that_is_lost_three_times_fails_its_trial(runs_dir: Path) -> None:
    executor = ScriptedExecutor(rising)
    executor.outcomes = {"scripted_t000_s0": None}
    state, _ = conduct(runs_dir, executor, trials=2)
    assert executor.started.count("scripted_t000_s0") == 3
    assert "its process was killed" in str(state.trials[0].reason)
    assert [trial.state for trial in state.trials] == [TrialStatus.FAILED, TrialStatus.DONE]


@pytest.mark.slow
def test_an_evaluation_that_is_not_finite_fails_its_trial(runs_dir: Path) -> None:
    state, _ = conduct(runs_dir, ScriptedExecutor(lambda _: [0.0, float("nan")]), trials=1)
    assert "not finite" in str(state.trials[0].reason)


LOCKED = r"study\.db cannot be used: database is locked\."


def lock(study_file: Path) -> sqlite3.Connection:
    """Keep others from a study until the connection is closed."""
    database = sqlite3.connect(study_file)
    database.execute("BEGIN EXCLUSIVE")
    return database


@pytest.mark.parametrize(
    "use",
    [
        lambda study: study.ask(),
        lambda study: study.report(0, 1000, 1.0),
        lambda study: study.complete(0, 1.0),
        lambda study: study.prune(0, 1000),
        lambda study: study.fail(0, Text("It broke."), 1000),
        lambda study: study.use_seconds(1.0),
    ],
    ids=["ask", "report", "complete", "prune", "fail", "use_seconds"],
)
def test_a_study_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[SweepStudy], object]
) -> None:
    monkeypatch.setattr("td3core.experiments.sweeps.study._PATIENCE_S", 0)
    file = tmp_path / "study.db"
    with SweepStudy(file, parse(TEXT.format(trials=2, more=""), "locked")) as study:
        study.ask()
        with contextlib.closing(lock(file)), pytest.raises(RequestError, match=LOCKED):
            use(study)


@pytest.mark.slow
def test_a_kill_before_the_answer_of_the_pruner_is_recorded_loses_no_pruning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = parse(TEXT.format(trials=7, more="pruning = 'median'"), "pruned")
    with SweepStudy(tmp_path / "study.db", spec) as study:
        for number in range(6):
            study.ask()
            if number < 5:
                study.report(number, 1_000, 10.0)
                study.complete(number, 10.0)

        def killed(*_: object) -> None:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr("optuna.Trial.set_user_attr", killed)
            with pytest.raises(Killed):
                study.report(5, 1_000, -10.0)
    with SweepStudy(tmp_path / "study.db", spec) as study:
        assert study.report(5, 1_000, -10.0)


@pytest.mark.slow
def test_an_earlier_evaluation_that_is_reported_again_decides_nothing(tmp_path: Path) -> None:
    spec = parse(TEXT.format(trials=7, more="pruning = 'median'"), "pruned")
    with SweepStudy(tmp_path / "study.db", spec) as study:
        for number in range(6):
            study.ask()
            assert not study.report(number, 1_000, 10.0)
            if number < 5:
                assert not study.report(number, 2_000, 20.0)
                study.complete(number, 20.0)
        assert study.report(5, 2_000, 5.0)
        # As after a kill, when all evaluations of the run are read again.
        assert not study.report(5, 1_000, 10.0)
        assert study.trials()[5].pruned_at == 2_000


def test_what_ends_a_sweep_is_told_though_its_study_cannot_be_written_either(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.experiments.sweeps.study._PATIENCE_S", 0)
    with contextlib.ExitStack() as locked:

        class Breaking(ScriptedExecutor):
            def wait(self, timeout_s: float) -> list[RunEnd]:
                file = SweepFolder(runs_dir, "scripted").study_file
                locked.enter_context(contextlib.closing(lock(file)))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            conduct(runs_dir, Breaking(rising))


# The state on disk -------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["missing", "empty", "without trials"])
@pytest.mark.slow
def test_a_sweep_whose_study_is_lost_says_so_and_is_recorded_anew_when_it_is_continued(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], lost: str
) -> None:
    whole, _ = conduct(runs_dir, ScriptedExecutor(rising))
    folder = SweepFolder(runs_dir, "scripted")
    folder.study_file.unlink()
    if lost == "empty":
        folder.study_file.touch()
    elif lost == "without trials":
        SweepStudy(folder.study_file, folder.spec()).close()
    assert app.main(["sweep", "show", "scripted", "--runs-dir", str(runs_dir)]) == 2
    said = capsys.readouterr()
    assert "no record of its trials" in said.err
    assert "td3-studio sweep resume scripted" in said.err
    assert said.out == ""
    assert folder.study_file.exists() == (lost != "missing")
    rest = ScriptedExecutor(rising)
    state, _ = conduct(runs_dir, rest)
    assert rest.started == []
    assert state.trials == tuple(
        replace(each, seconds=now.seconds)
        for each, now in zip(whole.trials, state.trials, strict=True)
    )


def test_a_finished_trial_is_not_pruned_because_the_study_was_lost(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=2)
    SweepFolder(runs_dir, "scripted").study_file.unlink()
    monkeypatch.setattr("optuna.trial.Trial.should_prune", lambda _: True)
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=3)
    found = [trial.state for trial in state.trials]
    assert found == [TrialStatus.DONE, TrialStatus.DONE, TrialStatus.PRUNED]
    assert [trial.value for trial in state.trials[:2]] == [trial.value for trial in whole.trials]


@pytest.mark.slow
def test_a_run_of_a_lost_study_is_not_counted_for_a_trial_with_other_settings(
    runs_dir: Path,
) -> None:
    whole, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=2)
    SweepFolder(runs_dir, "scripted").study_file.unlink()
    # As when several jobs draw: trials 0 and 1 change places.
    runs = [runs_dir / trial.runs[0] for trial in whole.trials]
    runs[0].rename(runs_dir / "aside")
    runs[1].rename(runs[0])
    (runs_dir / "aside").rename(runs[1])
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=2)
    assert [trial.state for trial in state.trials] == [TrialStatus.FAILED] * 2
    reason = str(state.trials[0].reason)
    mine, other = (trial.settings["gamma"] for trial in whole.trials)
    assert reason.startswith(f"the run {runs[0].name} has gamma {other}, its trial {mine}; the")


def test_the_state_of_a_sweep_is_built_only_when_it_is_shown(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[SweepState] = []

    def build(*args: Any, **about: Any) -> SweepState:
        built.append(state_of(*args, **about))
        return built[-1]

    monkeypatch.setattr(f"{RUNNER}.state_of", build)
    monkeypatch.setattr(f"{RUNNER}._STATE_EVERY_S", math.inf)
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=1)
    assert built == [state]


def test_a_state_that_has_not_changed_is_not_written_again_until_its_times_are_old(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(ScriptedExecutor):
        left = 20

        def wait(self, timeout_s: float) -> list[RunEnd]:
            self.left -= 1
            if self.left == 0:
                monkeypatch.setattr(f"{RUNNER}._TIMES_EVERY_S", 0.0)
            return [] if self.left >= 0 else super().wait(timeout_s)

    written: list[SweepState] = []

    def write(folder: SweepFolder, state: SweepState, *, durable: bool) -> None:
        written.append(state)
        writing(folder, state, durable=durable)

    writing = SweepFolder.write_state
    monkeypatch.setattr(SweepFolder, "write_state", write)
    monkeypatch.setattr(f"{RUNNER}._STATE_EVERY_S", 0.0)
    monkeypatch.setattr(f"{RUNNER}._TIMES_EVERY_S", math.inf)
    shown: list[SweepState] = []
    state, _ = conduct(runs_dir, Slow(rising), trials=1, report=shown.append)
    first, times, *rest = written
    assert [shown.index(each) for each in (first, times)] == [0, 19]
    assert times.seconds > first.seconds
    assert rest[-1] == state
    assert SweepFolder(runs_dir, "scripted").read_state() == state


# Stopping ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_stopped_sweep_keeps_its_trial_for_the_next_time(runs_dir: Path) -> None:
    control = Control()

    def stop_at_the_first_trial(state: SweepState) -> None:
        control.stop()

    executor = ScriptedExecutor(rising)
    state, _ = conduct(runs_dir, executor, control=control, report=stop_at_the_first_trial)
    assert executor.stopped == ["scripted_t000_s0"]
    assert [trial.state for trial in state.trials] == [TrialStatus.RUNNING]
    state, _ = conduct(runs_dir, ScriptedExecutor(rising))
    assert state.count(TrialStatus.DONE) == 4


def test_what_a_run_does_after_the_steps_of_its_sweep_does_not_count(runs_dir: Path) -> None:
    control = Control()
    conduct(
        runs_dir,
        ScriptedExecutor(rising),
        trials=1,
        control=control,
        report=lambda _: control.stop(),
    )
    run = runs_dir / "scripted_t000_s0"
    for step, mean in enumerate((1.0, 2.0, 3.0, 900.0), start=2):
        add_evaluation(run, step * 1000, mean)
    # Its user has stopped it at a step that is beyond those of the sweep.
    write_ending(run, {"stopped": "user", "env_steps": 5500})
    rest = ScriptedExecutor(rising)
    state, _ = conduct(runs_dir, rest, trials=1)
    assert rest.started == []
    assert (state.trials[0].value, state.trials[0].env_steps) == (3.0, 4000)


@pytest.mark.slow
def test_a_sweep_stops_at_a_run_that_another_process_holds_and_trains_it_the_next_time(
    runs_dir: Path,
) -> None:
    message = Text("scripted_t000_s0 is locked by a living process.")
    executor = ScriptedExecutor(rising)
    executor.outcomes = {"scripted_t000_s0": Outcome(stopped="locked", message=message)}
    state, runner = conduct(runs_dir, executor, trials=2)
    assert not runner.failed
    assert str(state.message).startswith(f"{message} The sweep was stopped; ")
    assert [trial.state for trial in state.trials] == [TrialStatus.RUNNING]
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=2)
    assert state.count(TrialStatus.DONE) == 2


def test_a_sweep_says_which_run_it_waits_for_and_until_when(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{RUNNER}._STATE_EVERY_S", 0.0)
    with pytest.raises(Killed):
        conduct(runs_dir, ScriptedExecutor(rising, kill_at=1), trials=1)
    out, said = io.StringIO(), list[str]()
    held = RunLock(runs_dir / "scripted_t000_s0")
    held.acquire()
    with SweepProgress(Console(file=out)) as show:

        def report(state: SweepState) -> None:
            show(state)
            said.append(str(state.message))
            if len(said) == 2:
                held.release()

        conduct(runs_dir, ScriptedExecutor(rising), trials=1, report=report)
    who = f"a living process (pid {os.getpid()})"
    sentence = f"scripted_t000_s0 is locked by {who}; the sweep waits for it, 60 s at most."
    assert said == [sentence, sentence, *[""] * (len(said) - 2)]
    assert out.getvalue().count(sentence) == 1


def test_a_sweep_that_was_killed_while_it_waited_waits_no_longer(runs_dir: Path) -> None:
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=1)
    folder = SweepFolder(runs_dir, "scripted")
    folder.write_state(replace(state, running=True, message=Text("It waits.")))
    with RunLock(folder.path):
        assert str(folder.read_state().message) == "It waits."  # type: ignore[union-attr]
    assert folder.read_state() == state


@pytest.mark.slow
def test_a_trial_is_judged_by_all_its_runs_that_have_begun_though_fewer_train_at_once(
    runs_dir: Path,
) -> None:
    def curve(run: RunDirectory) -> Sequence[float]:
        return [10.0 * run.config.seed + step for step in range(4)]

    more = "seeds = 2\npruning = 'median'"
    with pytest.raises(Killed):
        conduct(runs_dir, ScriptedExecutor(curve, slots=2, kill_at=3), trials=1, more=more)
    with pytest.raises(Killed):
        conduct(runs_dir, ScriptedExecutor(curve, kill_at=3), trials=1, more=more)
    spec = SweepFolder(runs_dir, "scripted").spec()
    with SweepStudy(SweepFolder(runs_dir, "scripted").study_file, spec) as study:
        reported = study._frozen(0).intermediate_values
    assert reported == {1000: 5.0, 2000: 6.0}


def test_a_run_that_hangs_does_not_hold_up_the_end_of_a_sweep_for_ever(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(ScriptedExecutor):
        def stop(self, run: Path) -> None:
            self.stopped.append(run.name)

        def wait(self, timeout_s: float) -> list[RunEnd]:
            return []

    monkeypatch.setattr(f"{RUNNER}._SAVE_S", 0.05)
    control, executor = Control(), Hanging(rising)
    state, _ = conduct(runs_dir, executor, control=control, report=lambda _: control.stop())
    assert executor.stopped == ["scripted_t000_s0"]
    assert [trial.state for trial in state.trials] == [TrialStatus.RUNNING]


@pytest.mark.slow
def test_a_time_limit_ends_the_sweep_and_a_greater_one_continues_it(runs_dir: Path) -> None:
    limit = "time_limit_min = 0.0000001"
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), more=limit)
    assert "time limit" in str(state.message)
    assert state.count(TrialStatus.DONE) == 0
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), more="time_limit_min = 60")
    assert state.count(TrialStatus.DONE) == 4


def test_a_stop_that_comes_while_a_sweep_starts_is_not_lost(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = scripted_runs.TEXT.format(trials=3, more="name = 'scripted'")
    folder = SweepFolder(runs_dir, "scripted")

    def open_study(*args: Any) -> SweepStudy:
        folder.ask_to_stop()
        return SweepStudy(*args)

    executor = ScriptedExecutor(rising)
    monkeypatch.setattr(launch, "LocalExecutor", lambda *_: executor)
    monkeypatch.setattr(launch, "SweepStudy", open_study)
    request = launch.SweepRequest(text=text, spec=parse(text, "scripted"), runs_dir=runs_dir)
    state, failed = launch.conduct(request, Control(), lambda _: None)
    assert not failed
    assert executor.stopped == ["scripted_t000_s0"]
    assert state.count(TrialStatus.DONE) == 0


def test_the_file_of_a_sweep_that_is_running_is_left_alone(runs_dir: Path) -> None:
    conduct(runs_dir, ScriptedExecutor(rising), trials=1)
    folder = SweepFolder(runs_dir, "scripted")
    before = folder.text()
    text = scripted_runs.TEXT.format(trials=9, more="name = 'scripted'")
    request = launch.SweepRequest(text=text, spec=parse(text, "scripted"), runs_dir=runs_dir)
    with RunLock(folder.path), pytest.raises(RequestError, match="is locked by a living process"):
        launch.conduct(request, Control(), lambda _: None)
    assert folder.text() == before


def test_only_a_sweep_that_is_running_can_be_asked_to_stop(runs_dir: Path) -> None:
    conduct(runs_dir, ScriptedExecutor(rising), trials=1)
    with pytest.raises(RequestError, match="not running"):
        SweepFolder.find(runs_dir, "scripted").ask_to_stop()
    with pytest.raises(RequestError, match="no sweep called 'scripter'"):
        SweepFolder.find(runs_dir, "scripter")
