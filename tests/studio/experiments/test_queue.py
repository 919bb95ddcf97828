"""The queue: its order, what a restart keeps, and a start that fails."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from studio.experiments.queue_file import QueuedRun, SharedQueue, read_queue, write_queue
from studio.experiments.run_queue import RunQueue
from td3core.config import make_settings
from td3core.errors import RequestError
from tests.studio.settled import settle


def queued(seed: int, seeds: tuple[int, ...] = ()) -> QueuedRun:
    config, tunables = make_settings({"env": "Pendulum-v1", "seed": seed, "tau": 0.01})
    return QueuedRun(config=config, tunables=tunables, seeds=seeds)


class Machine:
    """Trains nothing, but records what was started."""

    def __init__(self) -> None:
        self.busy = False
        self.started: list[int] = []

    def start(self, run: QueuedRun) -> None:
        self.started.append(run.config.seed)
        self.busy = True


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def open_queue(qtbot, runs_dir: Path, machine: Machine) -> Iterator[Callable[[], RunQueue]]:
    """Open the queue of the folder, as a window that starts does."""
    opened = []

    def make() -> RunQueue:
        queue = RunQueue(runs_dir, lambda: machine.busy)
        queue.wanted.connect(machine.start)
        opened.append(queue)
        return queue

    yield make
    for queue in opened:
        queue.shutdown()


def seeds_of(queue: RunQueue) -> list[int]:
    return [run.config.seed for run in queue.runs]


def test_runs_start_one_after_another_in_their_order(qtbot, open_queue, machine) -> None:
    queue = open_queue()
    machine.busy = True
    for seed in (1, 2, 3):
        queue.add(queued(seed))
    assert machine.started == []
    for count in (1, 2, 3):
        machine.busy = False
        queue.on_ended()
        qtbot.waitUntil(lambda count=count: len(machine.started) == count)
    assert machine.started == [1, 2, 3]
    assert queue.runs == ()


def test_nothing_starts_while_something_trains(qtbot, open_queue, machine) -> None:
    queue = open_queue()
    machine.busy = True
    queue.add(queued(1))
    queue.start_next()
    assert machine.started == []
    assert seeds_of(queue) == [1]


def test_runs_are_moved_and_removed(open_queue) -> None:
    queue = open_queue()
    for seed in (1, 2, 3):
        queue.add(queued(seed))
    first, second, third = (run.id for run in queue.runs)
    queue.move(third, -2)
    assert seeds_of(queue) == [3, 1, 2]
    queue.move(third, -1)
    queue.move(second, 1)
    queue.move("gone", 1)
    assert seeds_of(queue) == [3, 1, 2]
    queue.remove(first)
    queue.remove("gone")
    assert seeds_of(queue) == [3, 2]


def test_a_restart_keeps_what_waits_and_starts_nothing(qtbot, open_queue, machine) -> None:
    first = open_queue()
    waiting = [queued(1), queued(2, (0, 1, 7))]
    for run in waiting:
        first.add(run)
    first.shutdown()
    second = open_queue()
    qtbot.waitUntil(lambda: len(second.runs) == 2)
    assert list(second.runs) == waiting
    assert machine.started == []


def test_a_closed_queue_starts_nothing_and_keeps_everything(qtbot, open_queue, runs_dir, machine):
    queue = open_queue()
    queue.add(queued(1))
    queue.close()
    queue.start_next()
    queue.shutdown()
    assert machine.started == []
    assert [run.config.seed for run in read_queue(runs_dir)] == [1]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"schema": 9, "runs": []}',
        '{"schema": 1, "runs": [{}]}',
        '{"schema": 1, "runs": 7}',
        '{"schema": 1, "runs": [{"config": {"env": "E"}, "tunables": {}, "seeds": "1,1"}]}',
        '{"schema": 1, "runs": [{"config": {"env": "E"}, "tunables": {}, "seeds": 5}]}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_is_refused(runs_dir: Path, content: str) -> None:
    runs_dir.mkdir()
    (runs_dir / "queue.json").write_text(content)
    with pytest.raises(RequestError, match=r"The queue in queue\.json cannot be read"):
        read_queue(runs_dir)


def test_a_damaged_file_is_reported_and_the_queue_works(qtbot, open_queue, runs_dir) -> None:
    runs_dir.mkdir()
    (runs_dir / "queue.json").write_text("{")
    refused = []
    queue = open_queue()
    queue.refused.connect(refused.append)
    qtbot.waitUntil(lambda: bool(refused))
    queue.add(queued(4))
    queue.shutdown()
    found = json.loads((runs_dir / "queue.json").read_text())
    assert [run["config"]["seed"] for run in found["runs"]] == [4]


def test_an_empty_queue_leaves_no_file(runs_dir: Path) -> None:
    write_queue(runs_dir, ())
    assert not runs_dir.exists()


def test_a_run_that_could_not_start_stays_listed_and_the_next_one_starts(
    qtbot, open_queue, runs_dir, machine
) -> None:
    queue = open_queue()
    queue.add(queued(2))
    queue.put_back(replace(queued(1), problem="Its checkpoint is gone."))
    queue.start_next()
    qtbot.waitUntil(lambda: machine.started == [2])
    queue.shutdown()
    (left,) = read_queue(runs_dir)
    assert (left.config.seed, left.problem) == (1, "Its checkpoint is gone.")
    # In the next window, too; it is only tried again on request.
    machine.busy = False
    queue = open_queue()
    qtbot.waitUntil(lambda: len(queue.runs) == 1)
    queue.start_next()
    settle(queue)
    assert machine.started == [2]
    queue.start_again()
    qtbot.waitUntil(lambda: machine.started == [2, 1])
    assert queue.runs == ()


def test_a_run_tried_again_while_the_queue_still_looks_for_the_next_one_starts(
    qtbot, open_queue, runs_dir, machine, monkeypatch
) -> None:
    write_queue(runs_dir, (replace(queued(1), problem="Its checkpoint is gone."),))
    queue = open_queue()
    qtbot.waitUntil(lambda: len(queue.runs) == 1)
    claim, found, asked = SharedQueue.claim, threading.Event(), threading.Event()

    def claim_slowly(shared: SharedQueue) -> QueuedRun | None:
        claimed = claim(shared)
        found.set()
        assert asked.wait(10)
        return claimed

    monkeypatch.setattr(SharedQueue, "claim", claim_slowly)
    queue.on_ended()
    qtbot.waitUntil(found.is_set)
    queue.start_again()
    asked.set()
    qtbot.waitUntil(lambda: machine.started == [1])
    assert queue.runs == ()


# Several windows on one folder --------------------------------------------------------------------


def test_two_windows_keep_what_each_of_them_adds(qtbot, open_queue, runs_dir, machine) -> None:
    machine.busy = True
    one, other = open_queue(), open_queue()
    one.add(queued(1))
    one.shutdown()
    other.add(queued(2))
    other.shutdown()
    assert [run.config.seed for run in read_queue(runs_dir)] == [1, 2]
    qtbot.waitUntil(lambda: seeds_of(other) == [1, 2])


def test_two_windows_never_start_the_same_run(qtbot, open_queue, runs_dir, machine) -> None:
    write_queue(runs_dir, (queued(1), queued(2)))
    one, other = open_queue(), open_queue()
    qtbot.waitUntil(lambda: len(one.runs) == len(other.runs) == 2)
    one.start_next()
    qtbot.waitUntil(lambda: len(machine.started) == 1)
    machine.busy = False
    other.start_next()
    qtbot.waitUntil(lambda: len(machine.started) == 2)
    assert machine.started == [1, 2]
    assert read_queue(runs_dir) == ()


def test_what_another_window_adds_later_starts_when_the_training_ends(
    qtbot, open_queue, machine
) -> None:
    machine.busy = True
    one = open_queue()
    with qtbot.waitSignal(one.changed):
        pass
    other = open_queue()
    other.add(queued(1))
    other.shutdown()
    machine.busy = False
    one.on_ended()
    qtbot.waitUntil(lambda: machine.started == [1])


def test_a_look_shows_what_another_window_adds_and_starts_nothing(
    qtbot, open_queue, machine
) -> None:
    one = open_queue()
    with qtbot.waitSignal(one.changed):
        pass
    other = open_queue()
    other.add(queued(1))
    other.shutdown()
    one.look()
    qtbot.waitUntil(lambda: seeds_of(one) == [1])
    assert machine.started == []


def test_looks_tell_of_a_damaged_file_once_and_leave_it(
    qtbot, open_queue, runs_dir, machine
) -> None:
    runs_dir.mkdir()
    (runs_dir / "queue.json").write_text("{")
    refused = []
    queue = open_queue()
    queue.refused.connect(refused.append)
    for ask in (queue.look, queue.look, queue.start_next):
        with qtbot.waitSignal(queue.changed):
            ask()
    assert len(refused) == 1
    assert [path.name for path in runs_dir.iterdir()] == ["queue.json"]
    assert machine.started == []


def test_texts_with_line_breaks_in_the_file_are_shown_in_one_line(runs_dir) -> None:
    run = queued(1)
    config = replace(run.config, preset="my\npreset")
    write_queue(
        runs_dir,
        [replace(run, config=config, variant="a\r\nb", series="s\nt", problem="It\nfailed.")],
    )
    (read,) = read_queue(runs_dir)
    assert (read.variant, read.series, read.problem) == ("a b", "s t", "It failed.")
    assert read.about.startswith("a b · my preset · seed 1 · ")
    # The settings of the run are those of the file.
    assert read.config == config


def test_an_end_without_a_queue_leaves_no_file(qtbot, open_queue, runs_dir) -> None:
    queue = open_queue()
    queue.start_next()
    settle(queue)
    assert not runs_dir.exists()


def test_a_run_is_claimed_once_however_many_want_it(runs_dir: Path) -> None:
    write_queue(runs_dir, [queued(seed) for seed in range(12)])
    found: list[QueuedRun | None] = []

    def claim() -> None:
        mine = SharedQueue(runs_dir)
        found.extend(mine.claim() for _ in range(5))

    threads = [threading.Thread(target=claim) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(run.config.seed for run in found if run) == list(range(12))


def test_what_one_window_drops_is_dropped_by_name_not_by_place(qtbot, open_queue, runs_dir) -> None:
    """Also in a queue of a version that did not store ids, with equal runs among them."""
    write_queue(runs_dir, [queued(seed) for seed in (1, 1, 2)])
    old = json.loads((runs_dir / "queue.json").read_text())
    for run in old["runs"]:
        del run["id"]
    (runs_dir / "queue.json").write_text(json.dumps(old))
    one, other = open_queue(), open_queue()
    qtbot.waitUntil(lambda: len(one.runs) == len(other.runs) == 3)
    for queue in (one, other):
        queue.remove(queue.runs[0].id)
        queue.shutdown()
    assert [run.config.seed for run in read_queue(runs_dir)] == [1, 2]


def test_a_run_taken_out_by_a_window_that_closes_stays_in_the_queue(
    qtbot, open_queue, runs_dir, machine
) -> None:
    write_queue(runs_dir, (queued(1), queued(2)))
    queue = open_queue()
    qtbot.waitUntil(lambda: len(queue.runs) == 2)
    queue.start_next()
    queue.shutdown()
    settle(queue)
    assert machine.started == []
    assert [run.config.seed for run in read_queue(runs_dir)] == [1, 2]


def test_a_file_that_cannot_be_read_is_set_aside_before_it_is_written(
    qtbot, open_queue, runs_dir
) -> None:
    runs_dir.mkdir()
    newer = '{"schema": 9, "runs": []}'
    (runs_dir / "queue.json").write_text(newer)
    queue = open_queue()
    with qtbot.waitSignal(queue.refused):
        pass
    queue.add(queued(1))
    queue.shutdown()
    assert (runs_dir / "queue.unreadable.json").read_text() == newer


def test_a_second_file_that_cannot_be_read_is_set_aside_beside_the_first(runs_dir: Path) -> None:
    runs_dir.mkdir()
    for number in (1, 2, 3):
        (runs_dir / "queue.json").write_text(f"no queue {number}")
        shared = SharedQueue(runs_dir)
        shared.change(lambda runs: (*runs, queued(1)))
        shared.sync()
    kept = {path.name: path.read_text() for path in runs_dir.glob("queue.unreadable*")}
    assert kept == {
        "queue.unreadable.json": "no queue 1",
        "queue.unreadable2.json": "no queue 2",
        "queue.unreadable3.json": "no queue 3",
    }
