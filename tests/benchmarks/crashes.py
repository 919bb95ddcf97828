"""Do runs, groups and sweeps that are killed again and again equal those that are not?

    .venv/bin/python -m tests.benchmarks.crashes                   100 configurations of seed 0
    .venv/bin/python -m tests.benchmarks.crashes --resume          those that are missing
    .venv/bin/python -m tests.benchmarks.crashes --only 17         one of them again, kept nowhere

Each configuration is drawn from the seed: environment, settings, live changes beforehand and by
hand. Its commands are killed with SIGKILL, resumed until it is done, and compared bit for bit with
one that was left alone, clocks aside (``time_s``, ``wall_s``, ``created``, ``ended``).
What came of each is kept in ``crashes.json`` beside this file.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import tomli_w

from td3core.config import make_settings
from td3core.errors import RequestError
from td3core.remote.steer import RemoteControl
from td3core.runs import lock
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import changes_of, scheduled
from td3core.runs.metadata import read_ending
from td3core.runs.resumption import resume_point
from td3core.runs.status import Status
from tests.support.configurations import LIVE, Configuration, Kind, draw
from tests.support.lives import Life, await_end, differences, runs_of

RESULTS = Path(__file__).with_suffix(".json")
CLOCKS = ("wall_s", "ended", "steps_per_s")
"""What two endings of the same run need not share."""
LONGEST_S = 600.0
"""How long a moment to kill is waited for, on a machine that has much else to do."""
_LOOK_S, _LOOK_CLOSELY_S = 0.01, 0.0005


class Moment(StrEnum):
    """When something is killed."""

    START = "while it starts"
    RANDOM = "at random"
    AGENT = "while an agent is written"
    MEMORY = "while the replay buffer is written"
    EVALUATION = "during an evaluation"
    CHANGE = "right after a live change by hand"


class Left(StrEnum):
    """What a kill left behind, as far as it shows in the files."""

    NOTHING = "no run yet"
    HALF = "a half-written file"
    PENDING = "an agent not yet evaluated"
    AHEAD = "a replay buffer ahead of its agent"


@dataclass
class Outcome:
    """What came of one configuration."""

    number: int
    kind: str
    env: str
    settings: dict[str, Any] = field(default_factory=dict)
    """As drawn: another version may draw others from the same seed."""
    kills: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    alone: int = 0
    """So many kills hit only the command itself: what it had started noticed."""
    by_hand: int = 0
    scheduled: int = 0
    lost: int = 0
    """Steps that a kill cost at most."""
    seconds: float = 0.0
    differences: list[str] = field(default_factory=list)


class Trial:
    """Lives through one configuration."""

    start_s = 5.0
    """How long a command has lately taken to begin."""

    def __init__(self, drawn: Configuration, folder: Path) -> None:
        self.drawn, self.folder = drawn, folder
        self.place = folder / "killed"
        self.runs_dir = self.place / "runs"
        self.straight = folder / "straight"
        self.outcome = Outcome(drawn.number, drawn.kind, drawn.env, drawn.settings)
        self.outcome.scheduled = len(drawn.schedule)
        self._source = drawn.source
        self._by_hand: set[str] = set()
        """The settings that were changed by hand."""

    def run(self) -> Outcome:
        """Kill it, resume it until it is done, and compare."""
        began = time.monotonic()
        try:
            self._live()
            if not self.outcome.differences:
                self.compare()
        except (OSError, RequestError, subprocess.SubprocessError) as problem:
            self._differs(f"{type(problem).__name__}: {problem}")
        self.outcome.seconds = round(time.monotonic() - began, 1)
        return self.outcome

    def _differs(self, what: str) -> None:
        self.outcome.differences.append(what)

    # Commands -----------------------------------------------------------------------------------

    def begin(self, place: Path) -> list[str]:
        """Return the command that trains it from the beginning."""
        drawn, runs = self.drawn, ["--runs-dir", str(place / "runs"), "--json"]
        if drawn.kind is Kind.SWEEP:
            return ["sweep", str(self._sweep_file()), "--trust-env", *self._module, *runs]
        if drawn.kind is Kind.GROUP:
            many = ["--seeds", str(drawn.seeds), "--jobs", str(drawn.jobs)]
            return ["train", drawn.env, *drawn.words(without=["seed"]), *runs, *many]
        words = ["train", drawn.env, *drawn.words(), *runs]
        return [*words, "--journal", str(self._schedule())] if drawn.schedule else words

    def _next(self) -> list[str]:
        """Return the command that takes up what was killed."""
        runs = ["--runs-dir", str(self.runs_dir), "--trust-env", "--json"]
        if self.drawn.kind is Kind.SWEEP:
            begun = (self.runs_dir / "sweeps" / "killed" / "sweep.toml").exists()
            if begun and self._source.random() < 0.5:
                return ["sweep", "resume", "killed", *self._module, *runs]
            return self.begin(self.place)
        if self.drawn.kind is Kind.GROUP:
            found = [path.parent for path in self.runs_dir.glob("groups/*/group.json")]
        else:
            found = runs_of(self.runs_dir)
        return ["resume", found[0].name, *runs] if found else self.begin(self.place)

    @property
    def _module(self) -> list[str]:
        """Return what names the module of its environment to a sweep, whose file may not."""
        module, colon, _ = self.drawn.env.rpartition(":")
        return ["--env-module", module] if colon else []

    def _sweep_file(self) -> Path:
        drawn = self.drawn
        rates = {"low": 1e-4, "high": 1e-2, "log": True}
        points = {"points": 2} if drawn.sweep["sampler"] == "grid" else {}
        space: dict[str, Any] = {"actor_lr": rates | points, "n_step": {"choices": [1, 3]}}
        own = ("env", "steps", "seed", *space)
        content = drawn.sweep | {
            "environment": drawn.env.rpartition(":")[2],
            "steps": drawn.settings["steps"],
            "seeds": [drawn.settings["seed"]],
            "jobs": drawn.jobs,
            "pruning": "none",
            "settings": {k: v for k, v in drawn.settings.items() if k not in own},
            "space": space,
        }
        path = self.folder / "killed.toml"
        path.write_text(tomli_w.dumps(content))
        return path

    def _schedule(self) -> Path:
        """Return a run whose journal has the live changes that are known beforehand."""
        found = runs_of(self.folder / "schedule")
        if found:
            return found[0]
        config, tunables = make_settings(self.drawn.settings)
        entries = scheduled(self.drawn.schedule, tunables, 1)
        made = RunDirectory.create(self.folder / "schedule", config, tunables, schedule=entries)
        return made.path

    # Killing ------------------------------------------------------------------------------------

    def _live(self) -> None:
        kills, moment = self.outcome.kills, None
        while len(kills) < self.drawn.kills:
            # Killed again before it has come to itself, every fourth time.
            twice = moment is not None and self._source.random() < 0.25
            moment = Moment.START if twice else self._source.choice(list(Moment))
            life = Life.begin(self.place, self._next(), self.drawn.slack)
            hit = self._await(life, moment)
            if hit is None:
                life.kill()
                self._differs(f"it hung {moment}")
                return
            alone = self._source.random() < 0.25
            if not life.kill(alone=alone):
                break
            kills.append(hit)
            self.outcome.alone += alone
            # Half of the time the next one comes while these are still ending.
            if alone and self._source.random() < 0.5 and not await_end(self.place):
                self._differs("a process was left")
            self._look(settled=not alone)
        self._finish(self.place, self._next())
        if not await_end(self.place):
            self._differs("a process was left")

    def _finish(self, place: Path, words: Sequence[str]) -> None:
        """Let a command come to its end, which has to be a good one."""
        status = Life.begin(place, words, self.drawn.slack).end()
        answer: dict[str, Any] = {}
        lines = (place / "output.txt").read_text().splitlines()
        if lines:
            answer = json.loads(lines[-1])
        runs = answer.get("runs", [answer])
        if status or any(run.get("stopped") != "finished" for run in runs):
            errors = (place / "errors.txt").read_text()[-600:]
            self._differs(f"{words[0]} ended with status {status}: {answer} {errors}")

    def _await(self, life: Life, moment: Moment) -> Moment | None:
        """Wait for the moment, or for the command's end; return when it was, None if it hangs.

        A moment that does not come becomes another one, at random.
        """
        source, end = self._source, time.monotonic() + LONGEST_S
        if moment is Moment.START:
            _wait(life, source.uniform(0.0, 1.2 * Trial.start_s))
            return moment
        began, sights = time.monotonic(), Sights(self.runs_dir)
        most = max(self.drawn.saves // (self.drawn.kills + 1), 1)
        saves = source.randrange(1, most + 1) if moment is Moment.RANDOM else most
        wanted = source.choice((1, 2, 5))
        while life.alive and time.monotonic() < end:
            if sights.running and began:
                Trial.start_s, began = time.monotonic() - began, 0.0
            wanted -= sights.look(moment)
            if sights.saves and self._change() and moment is Moment.CHANGE:
                _wait(life, source.uniform(0.0, 0.05))
                return moment
            if wanted <= 0:
                _wait(life, source.uniform(0.0, 0.002))
                return moment
            if sights.saves >= saves:
                _wait(life, source.uniform(0.0, 0.1))
                return Moment.RANDOM
            time.sleep(_LOOK_CLOSELY_S if moment is Moment.AGENT else _LOOK_S)
        return None if life.alive else moment

    def _change(self) -> bool:
        """Change a live setting of a run by hand; return whether that was asked for."""
        if self.outcome.by_hand >= self.drawn.by_hand:
            return False
        running = [run for run in runs_of(self.runs_dir) if lock.recorded(run)]
        if not running:
            return False
        name = self._source.choice(list(LIVE))
        value = self._source.choice(LIVE[name])
        try:
            RemoteControl(self._source.choice(running)).change({name: value})
        except RequestError:
            return False
        self.outcome.by_hand += 1
        self._by_hand.add(name)
        return True

    def _look(self, *, settled: bool) -> None:
        """See what a kill has left on disk."""
        found = runs_of(self.runs_dir)
        if not found:
            self.outcome.left.append(Left.NOTHING)
        # Groups and sweeps begin runs at other times.
        if self.drawn.kind is not Kind.RUN or not found:
            return
        run = RunDirectory.open(found[0])
        if any(run.path.rglob("*.part")):
            self.outcome.left.append(Left.HALF)
        if run.pending():
            self.outcome.left.append(Left.PENDING)
        memory = run.path / "replay.f32"
        if memory.exists() and run.last.exists():
            ahead = memory.stat().st_mtime_ns > run.last.stat().st_mtime_ns
            self.outcome.left += [Left.AHEAD] * ahead
        if settled:
            self._require_little_lost(run)

    def _require_little_lost(self, run: RunDirectory) -> None:
        point = resume_point(run)
        status = Status.read(run.path)
        furthest = max(run.steps_on_record(), status.env_steps if status else 0)
        lost = furthest - (point.env_steps if point else 0)
        self.outcome.lost = max(self.outcome.lost, lost)
        if lost > run.config.checkpoint_interval + run.config.num_envs:
            self._differs(f"{lost} steps were lost")
        for said in point.deviations if point else ():
            self._differs(f"a damaged checkpoint was left: {said}")

    # Comparing ----------------------------------------------------------------------------------

    def compare(self) -> None:
        """Compare it with one that is left alone from now on."""
        if self.drawn.kind is Kind.SWEEP:
            self._finish(self.straight, self.begin(self.straight))
            for name in ("killed", "straight"):
                shutil.move(self.folder / name / "runs" / "sweeps", self.folder / name / "sweeps")
            if _trials(self.straight) != _trials(self.place):
                self._differs(f"trials: {_trials(self.straight)} {_trials(self.place)}")
        broken = runs_of(self.runs_dir)
        if len(broken) != (self.drawn.sweep.get("trials") or self.drawn.seeds):
            self._differs(f"runs: {[path.name for path in broken]}")
        for run in broken:
            whole = self._whole(run)
            if self.outcome.differences:
                return
            self.outcome.differences += [f"{run.name}: {what}" for what in _differ(whole, run)]
        if self.drawn.verified:
            words = ["verify", str(broken[0]), "--steps", "60", "--trust-env"]
            if Life.begin(self.place, words, self.drawn.slack).end():
                self._differs(f"verify: {(self.place / 'output.txt').read_text()}")

    def _whole(self, run: Path) -> Path:
        """Return the run that was left alone and that another is to equal."""
        if self.drawn.kind is Kind.SWEEP:
            return self.straight / "runs" / run.name
        place = self.folder / f"straight {run.name}"
        drawn, made = self.drawn, changes_of(RunDirectory.open(run).journal())
        words = ["train", drawn.env, "--runs-dir", str(place / "runs"), "--json"]
        words += drawn.words(seed=RunDirectory.open(run).config.seed)
        # Where nobody has interfered, the changes known beforehand have to be in its journal.
        source = run if self._by_hand else self._schedule() if drawn.schedule else None
        words += ["--journal", str(source)] if source else []
        if self._by_hand and drawn.schedule:
            entries = RunDirectory.open(self._schedule()).journal()
            names = {change.name for change in changes_of(entries)} - self._by_hand
            known = scheduled(
                changes_of(entries),
                RunDirectory.open(run).first_tunables,
                drawn.settings["num_envs"],
            )
            forgotten = [c for c in changes_of(known) if c.name in names and c not in made]
            if forgotten:
                self._differs(f"changes to come are not in the journal: {forgotten}")
        self._finish(place, words)
        return runs_of(place / "runs")[0]


class Sights:
    """What shows of the runs of a folder, from outside and cheaply."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._looked = folder, 0.0
        self._runs: list[str] = []
        self._before: dict[Moment, Any] = {}
        self._last: object = ()
        self.saves = 0
        """How often ``last`` was written since this looked first."""
        self._look_for_runs()
        self._last = self._agents()
        self._known = {run: self._held(run) for run in self._runs}
        for moment in Moment:
            self._before[moment] = self._seen(moment)

    def look(self, moment: Moment) -> bool:
        """Return whether what is waited for has begun since the last look."""
        if time.monotonic() - self._looked > 0.2:
            self._look_for_runs()
        agents = self._agents()
        self.saves += agents != self._last
        self._last = agents
        if moment in (Moment.RANDOM, Moment.CHANGE):
            return False
        now = self._seen(moment)
        begun = bool(now) and now != self._before[moment]
        self._before[moment] = now
        return begun

    @property
    def running(self) -> bool:
        """Whether a run was locked since this looked first."""
        return any(self._held(run) != self._known.get(run) for run in self._runs)

    def _look_for_runs(self) -> None:
        self._looked = time.monotonic()
        self._runs = [str(run) for run in runs_of(self._folder)]

    def _held(self, run: str) -> object:
        return _mark(f"{run}/lock.json")

    def _agents(self) -> object:
        return [_mark(f"{run}/checkpoints/last.safetensors") for run in self._runs]

    def _seen(self, moment: Moment) -> object:
        if moment is Moment.MEMORY:
            return [_mark(f"{run}/replay.f32") for run in self._runs]
        wanted = ".part" if moment is Moment.AGENT else "evaluating_"
        return [
            name for run in self._runs for name in _names(f"{run}/checkpoints") if wanted in name
        ]


def _mark(path: str) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116 - ten times faster than with a Path
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - the same
    except OSError:
        return []


def _wait(life: Life, seconds: float) -> None:
    until = time.monotonic() + seconds
    while life.alive and time.monotonic() < until:
        time.sleep(0.001)


def _trials(place: Path) -> list[dict[str, Any]]:
    """Return what became of the trials of a sweep, clocks aside."""
    path = next(place.glob("sweeps/*/state.json"))
    trials = json.loads(path.read_text())["trials"]
    return [{k: v for k, v in trial.items() if k != "seconds"} for trial in trials]


def _differ(whole: Path, broken: Path) -> list[str]:
    """Return in what two finished runs differ, and what is left in their folders."""
    found = differences(whole, broken)
    endings = []
    for run in (whole, broken):
        ending = read_ending(run)
        assert ending is not None
        endings.append({k: v for k, v in asdict(ending).items() if k not in CLOCKS})
    if endings[0] != endings[1]:
        found.append(f"endings: {endings}")
    # What was resumed says so in its journal, which another run may not need.
    same = {"journal.jsonl"}
    names = [
        {str(path.relative_to(run)) for path in run.rglob("*")} | same for run in (whole, broken)
    ]
    if names[0] != names[1]:
        found.append(f"files: {sorted(names[0] ^ names[1])}")
    if lock.left_behind(broken) or lock.holder(broken):
        found.append("it is still locked")
    return found


def crashes(
    seed: int, numbers: Sequence[int], kills: int, folder: Path, jobs: int = 1
) -> Iterator[Outcome]:
    """Live through these configurations of a seed, ``jobs`` at once; yield what came of each."""

    def live(number: int) -> Outcome:
        place = folder / f"{seed}-{number}"
        place.mkdir()
        outcome = Trial(draw(seed, number, kills), place).run()
        if not outcome.differences:
            shutil.rmtree(place)
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in as_completed([pool.submit(live, number) for number in numbers]):
                yield done.result()
        finally:
            # Interrupted, it ends after those under way.
            pool.shutdown(cancel_futures=True)


def figures(outcomes: Sequence[Outcome]) -> str:
    """Say in some lines what came of all."""
    kinds = Counter(outcome.kind for outcome in outcomes)
    kills = Counter(kill for outcome in outcomes for kill in outcome.kills)
    left = Counter(what for outcome in outcomes for what in outcome.left)
    differ = [outcome.number for outcome in outcomes if outcome.differences]
    return "\n".join(
        (
            f"{len(outcomes)} configurations: " + _listed(kinds),
            f"{kills.total()} kills: {_listed(kills)}",
            f"{sum(outcome.alone for outcome in outcomes)} of them hit the command alone",
            f"left behind: {_listed(left)}",
            f"live changes: {sum(o.scheduled for o in outcomes)} beforehand,"
            f" {sum(o.by_hand for o in outcomes)} by hand",
            f"steps lost by one kill: {max((o.lost for o in outcomes), default=0)} at most",
            f"configurations that differ: {differ or 'none'}",
        )
    )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


class Record:
    """What came of the configurations so far, in a file."""

    def __init__(self, path: Path, seed: int, kills: int, *, resumed: bool) -> None:
        self._path, self._plan = path, {"seed": seed, "kills": kills}
        found = json.loads(path.read_text()) if resumed and path.exists() else {}
        if found and {name: found.get(name) for name in self._plan} != self._plan:
            raise SystemExit(
                f"{path.name} holds another seed or number of kills; leave out --resume."
            )
        self.outcomes = [Outcome(**each) for each in found.get("outcomes", ())]

    def add(self, outcome: Outcome) -> None:
        """Keep one more."""
        self.outcomes = sorted([*self.outcomes, outcome], key=lambda each: each.number)
        lines = ",\n".join(json.dumps(asdict(each)) for each in self.outcomes)
        head = json.dumps(self._plan)[1:-1]
        new = self._path.with_suffix(".part")
        new.write_text(f'{{{head}, "outcomes": [\n{lines}\n]}}\n')
        new.replace(self._path)


def main() -> int:
    """Print what came of each, and figures at the end; the status is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--configurations", type=int, default=100)
    parser.add_argument("--kills", type=int, default=3, help="of each, on average")
    parser.add_argument("--jobs", type=int, default=1, help="configurations at the same time")
    parser.add_argument("--only", type=int, nargs="+", help="these numbers, kept nowhere")
    parser.add_argument("--resume", action="store_true", help="leave out those that are done")
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="td3-crashes-"))
    path = folder / "only.json" if chosen.only else chosen.results
    record = Record(path, chosen.seed, chosen.kills, resumed=chosen.resume)
    done = {outcome.number for outcome in record.outcomes}
    numbers = chosen.only or [n for n in range(chosen.configurations) if n not in done]
    for outcome in crashes(chosen.seed, numbers, chosen.kills, folder, chosen.jobs):
        record.add(outcome)
        print(outcome, flush=True)
    print(figures(record.outcomes))
    if any(outcome.differences for outcome in record.outcomes):
        print(folder)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
