"""Code that a file names is located without being imported, and imported only with consent."""

import json
import os
import pickle
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.config.env_choice import EnvChoice
from td3core.envs import make, trust, trust_store
from td3core.envs.check.rehearsal import rehearse
from td3core.envs.make import make_env
from td3core.errors import RequestError
from td3core.system import allowed_code
from td3core.system.allowed_code import LocatedModule
from td3core.system.files import make_folder
from td3core.system.imported_code import ImportedCode
from tests.support.stranger import Stranger


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stranger]:
    made = Stranger(tmp_path, monkeypatch)
    yield made
    made.leave("theirs_env", "theirs_pkg")
    gym.registry.pop("StrangerSlide-v0", None)


def located(name: str) -> str:
    found = trust.locate(name)
    assert found is not None
    return found.path


@pytest.mark.parametrize("name", ["theirs_env:Slide", "theirs_env:StrangerSlide-v0"])
def test_code_that_is_not_allowed_is_refused_before_anything_is_imported(
    stranger: Stranger, name: str
) -> None:
    path = stranger.write("theirs_env")
    with pytest.raises(trust.UntrustedCodeError):
        make_env(name)
    with pytest.raises(trust.UntrustedCodeError, match=r"theirs_env\.py") as caught:
        make_env(EnvChoice(name))
    assert (caught.value.module.name, caught.value.module.path) == ("theirs_env", str(path))
    assert stranger.imported == set()
    assert "theirs_env" not in sys.modules
    make_env(trust.with_user_consent(EnvChoice(name))).close()
    assert stranger.imported == {"theirs_env"}


def test_the_name_that_consent_had_in_the_first_version_still_works(stranger: Stranger) -> None:
    stranger.write("theirs_env")
    with pytest.warns(DeprecationWarning, match="with_user_consent"):
        choice = trust.typed(EnvChoice("theirs_env:Slide"))
    make_env(choice).close()
    assert stranger.imported == {"theirs_env"}


def test_the_refusal_survives_a_pipe(stranger: Stranger) -> None:
    stranger.write("theirs_env")
    with pytest.raises(trust.UntrustedCodeError) as caught:
        make_env(EnvChoice("theirs_env:Slide"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.module) == (str(caught.value), caught.value.module)


def test_no_parent_package_is_executed_to_find_a_module(stranger: Stranger) -> None:
    path = stranger.write("theirs_pkg.inner.deep")
    assert located("theirs_pkg.inner.deep") == str(path)
    with pytest.raises(trust.UntrustedCodeError):
        make_env(EnvChoice("theirs_pkg.inner.deep:Slide"))
    assert stranger.imported == set()


def test_packages_without_an_init_file_are_looked_through(stranger: Stranger) -> None:
    path = stranger.write("theirs_pkg.inner.deep")
    (stranger.folder / "theirs_pkg" / "__init__.py").unlink()
    (stranger.folder / "theirs_pkg" / "inner" / "__init__.py").unlink()
    assert located("theirs_pkg.inner.deep") == str(path)
    assert located("theirs_pkg.inner") == str(path.parent)
    assert trust.locate("theirs_pkg.inner.other") is None


def test_consent_to_a_module_is_none_to_its_neighbours_nor_to_another_folder(
    stranger: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger.write("theirs_env")
    stranger.write("theirs_pkg.one")
    stranger.write("theirs_pkg.two")
    allowed = trust.with_user_consent(EnvChoice("theirs_pkg.one:Slide"))
    assert trust.unconsented(allowed) == []
    for other in ("theirs_pkg.two:Slide", "theirs_pkg:Slide", "theirs_env:Slide"):
        assert len(trust.unconsented(EnvChoice(other))) == 1
    stranger.write("theirs_pkg.one", tmp_path / "elsewhere")
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    assert len(trust.unconsented(allowed)) == 1


def test_a_link_that_leads_elsewhere_by_now_is_another_folder(
    stranger: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "new"):
        stranger.write("theirs_env", tmp_path / name)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "old")
    monkeypatch.syspath_prepend(str(link))
    choice = trust.with_user_consent(EnvChoice("theirs_env:Slide"))
    link.unlink()
    link.symlink_to(tmp_path / "new")
    found = trust.unconsented(choice)
    assert [each.path for each in found] == [str(tmp_path / "new" / "theirs_env.py")]


def test_the_current_folder_is_searched_last_and_not_for_good(
    stranger: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger.write("theirs_env", tmp_path / "here")
    (tmp_path / "here" / "json.py").write_text("raise RuntimeError")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = [*sys.path]
    with pytest.raises(trust.UntrustedCodeError, match="here"):
        make_env(EnvChoice("theirs_env:Slide"))
    assert sys.path == before, "libraries would look for what they lack there"
    assert "here" not in located("json")
    make_env(trust.with_user_consent(EnvChoice("theirs_env:Slide"))).close()


@pytest.mark.parametrize(
    "name",
    [
        "Pendulum-v1",
        "gymnasium.envs.classic_control:PendulumEnv",
        "gymnasium.envs.classic_control.pendulum:PendulumEnv",
    ],
)
def test_gymnasiums_own_environments_need_no_consent(name: str) -> None:
    assert trust.unconsented(EnvChoice(name)) == []
    make_env(EnvChoice(name)).close()


def test_gymnasiums_own_environments_stay_registered_when_the_users_code_changes(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "_own_code", ImportedCode())
    monkeypatch.delitem(sys.modules, "gymnasium.envs.classic_control.pendulum", raising=False)
    make_env("gymnasium.envs.classic_control.pendulum:PendulumEnv").close()
    path = stranger.write("theirs_env")
    choice = trust.with_user_consent(EnvChoice("theirs_env:Slide"))
    make_env(choice).close()
    path.write_text(path.read_text() + "changed = True\n")
    make.forget_changed_code(choice)
    assert "theirs_env" not in sys.modules
    assert "Pendulum-v1" in gym.registry


@pytest.mark.parametrize("name", ["json:Decoder", "antigravity:X", "gymnasium.wrappers:TimeLimit"])
def test_all_other_code_needs_consent_wherever_it_lies(name: str) -> None:
    assert len(trust.unconsented(EnvChoice(name))) == 1


def test_a_package_that_only_has_a_known_name_needs_consent(stranger: Stranger) -> None:
    loaded = {name for name in sys.modules if name.startswith("pybullet_envs_gymnasium")}
    if loaded:
        pytest.skip("the real one is imported")
    stranger.write("pybullet_envs_gymnasium.bad")
    assert len(trust.unconsented(EnvChoice("pybullet_envs_gymnasium.bad:Slide"))) == 1


@pytest.mark.parametrize(
    "args",
    [
        {"env_id": "theirs_env:Slide-v0"},
        {"make_kwargs": [{"id": " theirs_env : Slide"}]},
        {"theirs_env:Slide": 1},
    ],
    ids=json.dumps,
)
def test_arguments_that_name_code_need_consent_as_well(
    stranger: Stranger, args: dict[str, object]
) -> None:
    stranger.write("theirs_env")
    choice = EnvChoice("GymV26Environment-v0", json.dumps(args))
    assert [each.name for each in trust.unconsented(choice)] == ["theirs_env"]
    with pytest.raises(trust.UntrustedCodeError):
        make_env(choice)
    assert trust.unconsented(trust.with_user_consent(choice)) == []


@pytest.mark.parametrize(
    "text", ["/path/to/ant.xml", "C:\\ant.xml", "C:/ant.xml", "https://a.b", "cuda:0", "a: b", ""]
)
def test_paths_and_the_like_are_no_code(text: str) -> None:
    choice = EnvChoice("Ant-v5", json.dumps({"xml_file": text}))
    assert trust.unconsented(choice) == []


@pytest.mark.parametrize(
    "name",
    [" theirs_env:Slide", "theirs_env :Slide", "theirs_env\n:Slide", "\u202etheirs_env:Slide",
     "./theirs_env:Slide", "theirs_env.:Slide", "theirs_env:Slide:x", "\uff54heirs_env:Slide"],
)  # fmt: skip
def test_odd_spellings_of_a_module_import_nothing(stranger: Stranger, name: str) -> None:
    stranger.write("theirs_env")
    with pytest.raises(RequestError):
        make_env(EnvChoice(name))
    assert stranger.imported == set()


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_name_makes_locating_fail_or_import(module: str, rest: str) -> None:
    before = set(sys.modules)
    trust.unconsented(EnvChoice(f"{module}:{rest}"))
    trust.names_code(EnvChoice("a", json.dumps({"x": rest})))
    assert set(sys.modules) - before <= {"unicodedata"}


# What is remembered ------------------------------------------------------------------------------


def test_an_answer_is_remembered_and_can_be_taken_back(stranger: Stranger) -> None:
    stranger.write("theirs_env")
    assert trust_store.remembered() == set()
    stranger.allow("theirs_env")
    assert trust_store.remembered() == {("theirs_env", str(stranger.folder))}
    assert trust_store.forget("theirs_env")
    assert not trust_store.forget("theirs_env")
    assert trust_store.remembered() == set()


def test_an_answer_that_another_process_gives_meanwhile_is_not_lost(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = (LocatedModule(name, str(stranger.folder / "m.py")) for name in ("mine", "other"))

    def meanwhile(folder: Path) -> None:
        monkeypatch.undo()
        monkeypatch.setenv("TD3_STUDIO_TRUST", str(stranger.trusted))
        trust_store.remember(other)
        make_folder(folder)

    monkeypatch.setattr(trust_store, "make_folder", meanwhile)
    trust_store.remember(mine)
    assert {name for name, _ in trust_store.remembered()} == {"mine", "other"}


def test_answers_of_several_processes_at_once_are_all_remembered(stranger: Stranger) -> None:
    modules = [LocatedModule(f"m{n}", str(stranger.folder / f"m{n}.py")) for n in range(20)]
    ready = threading.Barrier(len(modules))

    def answer(module: LocatedModule) -> None:
        ready.wait()
        trust_store.remember(module)

    with ThreadPoolExecutor(len(modules)) as pool:
        list(pool.map(answer, modules))
    assert {name for name, _ in trust_store.remembered()} == {each.name for each in modules}


@pytest.mark.parametrize("damage", ["", "[]", '{"trusted": [{"module": "m0"}]}'])
def test_a_damaged_file_of_answers_is_set_aside_with_what_is_in_it(
    stranger: Stranger, damage: str
) -> None:
    for number in (1, 2):
        stranger.trusted.write_text(damage)
        assert not trust_store.forget("theirs_env")
        trust_store.remember(LocatedModule("m", str(stranger.folder / "m.py")))
        assert trust_store.remembered() == {("m", str(stranger.folder))}
        aside = stranger.trusted.with_name(f"trusted.json.damaged-{number}")
        assert aside.read_text() == damage


@pytest.mark.parametrize("name", ["theirs_env", "theirs_pkg.inner"])
def test_an_allowed_module_is_found_wherever_the_user_is(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stranger.write(name)
    stranger.allow(name)
    choice = EnvChoice(f"{name}:Slide")
    allowed_code.allow(trust_store.remembered())
    elsewhere = [each for each in sys.path if each != str(stranger.folder)]
    monkeypatch.setattr(sys, "path", [*elsewhere])
    make_env(choice).close()
    stranger.leave("theirs_env", "theirs_pkg")
    monkeypatch.setattr(sys, "path", [*elsewhere])
    where = re.escape(f"No module named '{name}' in {Path.cwd()}")
    with pytest.raises(RequestError, match=where):
        make_env(choice)


def test_of_two_allowed_modules_of_one_name_none_is_guessed(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in (stranger.folder, tmp_path / "other"):
        stranger.write("theirs_env", folder)
        trust_store.remember(LocatedModule("theirs_env", str(folder / "theirs_env.py")))
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each != str(stranger.folder)])
    assert trust.locate("theirs_env") is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"trusted": 7}', '{"trusted": [{"module": "theirs_env"}]}',
     '{"trusted": [["theirs_env", "/"]]}', '{"trusted": [{"module": ["a"], "folder": "/"}]}',
     '{"trusted": ' + "[" * 5000, "\x00"],
)  # fmt: skip
def test_a_damaged_file_allows_nothing_and_is_replaced_by_the_next_answer(
    stranger: Stranger, text: str
) -> None:
    stranger.write("theirs_env")
    stranger.trusted.write_text(text)
    assert trust_store.remembered() == set()
    stranger.allow("theirs_env")
    assert trust_store.remembered() != set()


def test_special_files_in_its_place_allow_nothing(stranger: Stranger) -> None:
    os.mkfifo(stranger.trusted)
    assert trust_store.remembered() == set()


def test_an_answer_that_cannot_be_written_is_refused_in_a_sentence(stranger: Stranger) -> None:
    stranger.write("theirs_env")
    stranger.trusted.mkdir()
    with pytest.raises(RequestError, match="was not remembered"):
        stranger.allow("theirs_env")


# Other processes ---------------------------------------------------------------------------------


def test_another_process_imports_what_this_one_may_though_no_answer_is_remembered(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "usable_environments", set())
    stranger.write("theirs_env")
    stranger.trusted.mkdir()
    rehearse([trust.with_user_consent(EnvChoice("theirs_env:Slide"))])
    assert stranger.imported == {"theirs_env"}
    assert os.getpid() not in stranger.processes


def test_nodes_are_told_the_names_of_what_was_allowed_and_needed(
    stranger: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = []
    for name in ("theirs_env", "theirs_pkg.one", "theirs_pkg.two"):
        stranger.write(name)
        choices.append(EnvChoice(f"{name}:Slide"))
    for allowed in choices[:2]:
        trust.with_user_consent(allowed)
    assert trust.names_allowed(choices[1:]) == ["theirs_pkg.one"]
    # There they lie in other folders.
    for name in ("theirs_pkg.one", "theirs_pkg.two"):
        stranger.write(name, tmp_path / "node")
    monkeypatch.syspath_prepend(str(tmp_path / "node"))
    assert len(trust.unconsented(choices[1])) == 1
    trust.allow_named(["theirs_pkg.one", "not_there"])
    assert trust.unconsented(choices[1]) == []
    assert len(trust.unconsented(choices[2])) == 1
