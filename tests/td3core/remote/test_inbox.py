"""Requests of every kind of sender: none harms the run."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.config import Tunables, specs
from td3core.remote import inbox
from td3core.remote.inbox import ASKS_OF_A_RUN, Inbox, InboxRequest
from td3core.text import Text

NAME = "00000000000000000001-0123456789abcdef"


def inbox_of(run: Path) -> Inbox:
    return Inbox(run, ASKS_OF_A_RUN)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of requests of a run."""
    assert inbox_of(tmp_path).open() == []
    return tmp_path / "requests"


def put(folder: Path, data: bytes, name: str = NAME, mode: int = 0o600) -> Path:
    path = folder / f"{name}.json"
    path.write_bytes(data)
    path.chmod(mode)
    return path


def taken(folder: Path) -> InboxRequest:
    (request,) = inbox_of(folder.parent).take()
    return request


def test_the_folder_belongs_to_its_user_alone(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_request_is_taken_once_and_its_file_deleted(folder: Path) -> None:
    put(folder, b'{"ask": "tune", "values": {"tau": 0.01}}')
    inbox = inbox_of(folder.parent)
    assert inbox.take() == [InboxRequest(name=NAME, ask="tune", values={"tau": 0.01})]
    assert inbox.take() == []
    assert list(folder.iterdir()) == []


def test_requests_are_taken_in_the_order_they_were_made(folder: Path) -> None:
    for number in (3, 1, 2):
        put(folder, b'{"ask": "save"}', f"{number:020d}-0123456789abcdef")
    assert [int(each.name[:20]) for each in inbox_of(folder.parent).take()] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cannot be read"),
        ("[]", "JSON object"),
        ('{"ask": "destroy"}', "no request called 'destroy'"),
        ('{"ask": ["stop"]}', "no request called"),
        ('{"ask": "stop", "now": true}', "A request to stop has no field 'now'."),
        ('{"ask": "stop", "values": {}}', "has no field 'values'"),
        ('{"ask": "tune"}', "Name at least one live setting"),
        ('{"ask": "tune", "values": {"tau": 7}}', "tau cannot be 7"),
        ('{"ask": "tune", "values": {"tau": NaN}}', "tau cannot be nan"),
        ('{"ask": "tune", "values": {"seed": 7}}', "no live setting called 'seed'"),
        ("[" * 15_000, "cannot be read"),
        (
            '{"ask": "stop", "x": "' + "x" * 20_000 + '"}',
            f"cannot be read: {NAME}.json is larger than 16 KiB.",
        ),
        ('{"ask": "tune", "values": {"tau": 1' + "0" * 5000 + "}}", "cannot be read"),
    ],
)
def test_a_malformed_request_is_refused_with_a_sentence(
    folder: Path, text: str, sentence: str
) -> None:
    put(folder, text.encode())
    assert sentence in taken(folder).problem.english


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_request_that_others_could_have_written_is_refused(folder: Path, mode: int) -> None:
    put(folder, b'{"ask": "stop"}', mode=mode)
    assert "others may write to it" in taken(folder).problem.english


def test_a_request_is_taken_whatever_the_umask_of_its_sender(folder: Path) -> None:
    before = os.umask(0)
    try:
        inbox.put(folder.parent, "stop")
    finally:
        os.umask(before)
    assert taken(folder).ask == "stop"


def test_a_request_of_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, b'{"ask": "stop"}')
    inbox, other = inbox_of(folder.parent), os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert inbox.take() == []
    assert inbox.problem is not None


def test_special_files_are_refused_and_never_opened(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / f"1-{'a' * 16}.json")
    (folder / f"2-{'a' * 16}.json").symlink_to("/dev/zero")
    (folder / f"3-{'a' * 16}.json").mkdir()
    (tmp_path / "outside").write_text('{"ask": "stop"}')
    (folder / f"4-{'a' * 16}.json").symlink_to(tmp_path / "outside")
    inbox = inbox_of(folder.parent)
    found = inbox.take()
    assert [each.problem for each in found] == [Text("The request is not a regular file.")] * 4
    assert (tmp_path / "outside").exists()
    assert inbox.take() == []


def test_a_folder_of_requests_that_leads_elsewhere_is_ignored(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(0o700)
    (tmp_path / "requests").symlink_to(elsewhere)
    put(elsewhere, b'{"ask": "stop"}')
    inbox = inbox_of(tmp_path)
    assert inbox.take() == []
    assert inbox.problem is not None
    assert list(elsewhere.iterdir()) != []


def test_a_folder_that_is_gone_is_made_again(folder: Path) -> None:
    folder.rmdir()
    inbox = inbox_of(folder.parent)
    assert inbox.take() == []
    assert folder.is_dir()


def test_a_folder_that_cannot_be_looked_at_holds_no_requests(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, b'{"ask": "stop"}')

    def fail(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr("td3core.remote.inbox.os.listdir", fail)
        assert inbox_of(folder.parent).take() == []
    with monkeypatch.context() as patched:
        patched.setattr(Path, "lstat", fail)
        assert inbox_of(folder.parent).take() == []
    assert taken(folder).ask == "stop"


def test_all_requests_to_an_earlier_process_are_refused_however_many(folder: Path) -> None:
    for number in range(40):
        put(folder, b'{"ask": "stop"}', f"{number:020d}-0123456789abcdef")
    inbox = inbox_of(folder.parent)
    assert [bool(each.problem) for each in inbox.open()] == [True] * 40
    assert inbox.take() == []


def test_files_that_are_not_requests_stay_as_they_are(folder: Path) -> None:
    for name in (f".{NAME}.part", "notes.json", f"{NAME}.json.bak", "x" * 200):
        (folder / name).write_text("mine")
    assert inbox_of(folder.parent).take() == []
    assert len(list(folder.iterdir())) == 4


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
live = st.sampled_from([name for name, _ in specs(Tunables)])
requests = json_values | st.fixed_dictionaries(
    {"ask": st.sampled_from(["tune", "stop", "pause"]) | json_values},
    optional={"values": st.dictionaries(live | st.text(max_size=9), json_values)},
)


@given(st.binary(max_size=300) | requests.map(lambda value: json.dumps(value).encode()))
def test_whatever_a_request_holds_it_is_either_sound_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    run = tmp_path_factory.mktemp("run")
    inbox = inbox_of(run)
    inbox.open()
    put(run / "requests", data)
    (request,) = inbox.take()
    if not request.problem:
        values: dict[str, Any] = dict(request.values)
        assert request.ask in ("tune", "pause", "unpause", "resume", "save", "stop")
        assert not values or request.ask == "tune"
        Tunables(**values)
