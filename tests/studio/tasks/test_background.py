"""Work in the background: the latest request is answered, writes are never dropped."""

import threading
from collections.abc import Callable

from PySide6.QtCore import QObject

from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.background_task import BackgroundTask, wait_for_cancelled
from td3core.errors import RequestError


def wait_for(thread: str) -> None:
    """Wait until no thread of this name is left."""
    for each in threading.enumerate():
        if each.name == thread:
            each.join()


def test_a_result_arrives_in_the_windows_thread_and_was_found_in_another(qtbot) -> None:
    reader, found = BackgroundTask("read"), []
    busy: list[bool] = []
    reader.busy_changed.connect(busy.append)
    reader.read(
        lambda _: threading.current_thread().name,
        lambda name: found.append((name, threading.current_thread())),
    )
    qtbot.waitUntil(lambda: not reader.busy)
    assert found == [("read", threading.main_thread())]
    assert busy == [True, False]


def test_only_the_newest_question_is_answered_and_the_others_are_stopped(qtbot) -> None:
    reader, found, noticed = BackgroundTask("read"), [], threading.Event()
    first = threading.Event()

    def slow(stopped: Callable[[], bool]) -> str:
        first.set()
        while not stopped():
            pass
        noticed.set()
        return "old"

    reader.read(slow, found.append)
    assert first.wait(10)
    reader.read(lambda _: "new", found.append)
    qtbot.waitUntil(lambda: not reader.busy)
    assert noticed.wait(10)
    wait_for("read")
    qtbot.waitUntil(lambda: found == ["new"])


def test_a_refusal_and_an_unexpected_error_are_announced_and_nothing_is_passed_on(qtbot) -> None:
    reader, found, refused = BackgroundTask("read"), [], []
    reader.failed.connect(refused.append)

    def fail(problem: Exception) -> Callable[[object], None]:
        def read(_: object) -> None:
            raise problem

        return read

    for problem in (RequestError("There is no such run."), ZeroDivisionError("by zero")):
        reader.read(fail(problem), found.append)
        qtbot.waitUntil(lambda: not reader.busy)
    assert list(map(str, refused)) == ["There is no such run.", "ZeroDivisionError: by zero"]
    assert found == []


def test_an_error_of_the_file_system_is_a_sentence_that_names_the_file(qtbot, tmp_path) -> None:
    reader, queue, refused = BackgroundTask("read"), BackgroundQueue("write"), []
    (tmp_path / "trials").touch()
    for each in (reader, queue):
        each.failed.connect(refused.append)
    reader.read(lambda _: (tmp_path / "trials").mkdir(), refused.append)
    qtbot.waitUntil(lambda: len(refused) == 1)
    queue.add((tmp_path / "trials").mkdir, refused.append)
    qtbot.waitUntil(lambda: len(refused) == 2)
    said = f"{tmp_path / 'trials'} cannot be used: File exists."
    assert list(map(str, refused)) == [said] * 2


def test_a_refusal_is_told_in_the_same_words_by_a_task_and_a_queue(qtbot) -> None:
    reader, queue, refused = BackgroundTask("read"), BackgroundQueue("write"), []
    for each in (reader, queue):
        each.failed.connect(refused.append)

    def refuse(*_: object) -> None:
        raise RequestError("There is no such run.")

    reader.read(refuse, refused.append)
    queue.add(refuse, refused.append)
    qtbot.waitUntil(lambda: len(refused) == 2)
    assert list(map(str, refused)) == ["There is no such run."] * 2


def test_what_is_cancelled_reports_nothing_and_is_waited_for_only_at_the_end(qtbot) -> None:
    task, heard, go_on = BackgroundTask("work"), [], threading.Event()
    task.reported.connect(heard.append)
    task.finished.connect(lambda: heard.append("finished"))

    def work(report: Callable[[object], None], stopped: Callable[[], bool]) -> None:
        go_on.wait(10)
        report(stopped())

    task.start(work)
    task.cancel()
    assert not task.busy
    assert any(each.name == "work" for each in threading.enumerate())
    go_on.set()
    wait_for_cancelled()
    assert not any(each.name == "work" for each in threading.enumerate())
    task.start(lambda report, _: report("later"))
    qtbot.waitUntil(lambda: not task.busy)
    assert heard == ["later", "finished"]


def test_what_is_held_up_is_not_waited_for_long(qtbot, caplog, monkeypatch) -> None:
    task, queue, go_on = BackgroundTask("hanging"), BackgroundQueue("write"), threading.Event()
    monkeypatch.setattr("studio.tasks.background_queue._PATIENCE_S", 0.05)
    task.start(lambda *_: go_on.wait(10))
    queue.add(lambda: go_on.wait(10))
    task.cancel()
    wait_for_cancelled(0.05)
    queue.finish()
    assert {each.name for each in threading.enumerate()} >= {"hanging", "write"}
    assert caplog.messages == ["hanging is held up and was left", "write is held up"]
    go_on.set()
    wait_for_cancelled()
    queue.finish()
    assert not {each.name for each in threading.enumerate()} & {"hanging", "write"}


def test_work_that_outlives_its_window_does_no_harm(qtbot) -> None:
    parent, go_on = QObject(), threading.Event()
    reader, queue = BackgroundTask("read", parent), BackgroundQueue("write", parent)
    done: list[object] = []
    reader.read(lambda _: go_on.wait(10), done.append)
    queue.add(lambda: go_on.wait(10), done.append)
    parent.deleteLater()
    with qtbot.waitSignal(parent.destroyed):
        pass
    go_on.set()
    wait_for("read")
    wait_for("write")
    assert done == []


def test_the_queue_does_everything_in_order_and_survives_a_failure(qtbot) -> None:
    queue, done, results, failed = BackgroundQueue("write"), [], [], []
    queue.failed.connect(failed.append)
    first = threading.Event()
    queue.add(lambda: first.wait(10))
    for number in range(20):
        queue.add(lambda number=number: done.append(number) or number, results.append)
    queue.add(lambda: 1 / 0, results.append)
    queue.add(lambda: done.append("last"))
    first.set()
    queue.finish()
    assert done == [*range(20), "last"]
    qtbot.waitUntil(lambda: results == list(range(20)))
    qtbot.waitUntil(lambda: list(map(str, failed)) == ["ZeroDivisionError: division by zero"])
