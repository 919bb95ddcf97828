"""Choosing an environment, its description, its arguments, and checking it."""

import json
import sys
import threading
from pathlib import Path

import gymnasium as gym
import pytest
from PySide6.QtCore import QProcess, QSettings, Qt
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel, QProgressBar, QWidget

from studio.app import build_window
from studio.session.controller import SessionState
from studio.setup.env_picker import EnvPicker, Role, describe_env
from studio.setup.env_query import EnvQuery
from studio.setup.preset_menu import PresetMenu
from studio.window.session_memory import SessionMemory
from td3core.config import make_settings
from td3core.config.presets import load_presets, parse_preset
from td3core.envs import catalogue
from td3core.envs.catalogue import KNOWN
from tests.studio.window.test_main_job import click

pytestmark = pytest.mark.shared_window

OWN = """
import gymnasium as gym
import numpy as np

class Slide(gym.Env):
    action_space = gym.spaces.Box(-1, 1, (2,))
    def __init__(self, size=3, sound=True):
        self.sound = sound
        self.observation_space = gym.spaces.Box(-1, 1, (size,))
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, self.observation_space.shape).astype("f"), {}
    def step(self, action):
        self.steps += 1
        obs = self.np_random.uniform(-1, 1, self.observation_space.shape).astype("f")
        return obs if self.sound else obs * np.nan, 0.5, False, self.steps >= 20, {}

class Hanging(Slide):
    def reset(self, *, seed=None, options=None):
        import time
        time.sleep(3600)
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "window_envs.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    yield "window_envs:Slide"
    sys.modules.pop("window_envs", None)


@pytest.fixture
def picker(find) -> EnvPicker:
    return find("env_combo")


def rows(picker: EnvPicker) -> dict[str, tuple[str, bool]]:
    """Return facts and usability of every row by its name."""
    model = picker.model()
    found = {}
    for number in range(model.rowCount()):
        index = model.index(number, 0)
        usable = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        found[index.data()] = (index.data(Role.FACTS) or "", usable)
    return found


def type_name(qtbot, picker: EnvPicker, text: str) -> None:
    editor = picker.lineEdit()
    editor.setFocus()
    editor.selectAll()
    qtbot.keyClicks(editor, text)
    qtbot.keyClick(editor, Qt.Key.Key_Return)


def facts(find) -> str:
    label = find("env_facts")
    assert isinstance(label, QLabel)
    return label.text() if label.isVisible() else ""


@pytest.fixture
def choose_file(find, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path])

    def choose(path: Path) -> None:
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
        find("env_browse_button").click()

    return choose


@pytest.mark.own_window
@pytest.mark.slow
def test_an_own_environment_is_chosen_by_its_file(
    qtbot, window, picker, find, tmp_path: Path, choose_file
) -> None:
    folder = tmp_path / "mine" / "parts"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "slide.py").write_text(OWN)
    choose_file(folder / "slide.py")
    qtbot.waitUntil(lambda: picker.currentText() == "parts.slide:Slide")
    assert {"parts.slide:Slide", "parts.slide:Hanging"} <= rows(picker).keys()
    qtbot.waitUntil(lambda: facts(find).startswith("3 observations"), timeout=60_000)
    assert "parts" not in sys.modules


@pytest.mark.slow
@pytest.mark.own_window
def test_a_file_that_was_mended_is_chosen_again(
    qtbot, window, find, tmp_path: Path, choose_file
) -> None:
    file = tmp_path / "slide.py"
    file.write_text(OWN + "\nraise RuntimeError\n")
    choose_file(file)
    qtbot.waitUntil(lambda: "RuntimeError" in facts(find), timeout=60_000)
    assert "slide" not in sys.modules
    file.write_text(OWN)
    choose_file(file)
    qtbot.waitUntil(lambda: facts(find).startswith("3 observations"), timeout=60_000)


@pytest.mark.parametrize(
    ("text", "says"), [("class Slide: pass", "no class derived from"), ("class", "cannot be read")]
)
def test_a_file_without_an_environment_is_refused(
    qtbot, picker, find, tmp_path: Path, choose_file, text: str, says: str
) -> None:
    (tmp_path / "slide.py").write_text(text)
    before = picker.currentText()
    choose_file(tmp_path / "slide.py")
    qtbot.waitUntil(lambda: says in facts(find))
    assert picker.currentText() == before


def test_the_file_of_an_environment_is_read_outside_the_gui_thread(
    qtbot, find, tmp_path: Path, choose_file, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def note(_: Path) -> str:
        threads.append(threading.current_thread())
        return ""

    monkeypatch.setattr("studio.setup.env_file.read_text", note)
    choose_file(tmp_path / "slide.py")
    qtbot.waitUntil(lambda: bool(threads))
    assert threads[0] is not threading.main_thread()


TYPED = "own_envs:Typed"
ENTERED = {"env_args": '{"hardcore": true}', "steps": 4_321}
"""Settings entered for another environment before."""


@pytest.fixture
def being_typed(qtbot, window, find, picker) -> None:
    """Leave a name that is being typed in the field, with the settings of another environment."""
    find("field_env_args").setText(ENTERED["env_args"])
    find("steps_spin").setValue(ENTERED["steps"])
    window.activateWindow()
    editor = picker.lineEdit()
    editor.setFocus()
    qtbot.waitUntil(editor.hasFocus)
    editor.selectAll()
    # Not by keys: the list of suggestions would take the focus of the offscreen display.
    editor.insert(TYPED)
    assert find("steps_spin").value() == ENTERED["steps"]


@pytest.mark.parametrize("action", ["train", "queue"])
@pytest.mark.parametrize("way", ["mouse", "keys"])
def test_an_environment_that_is_being_typed_is_trained_with_its_own_settings(
    qtbot, window, find, monkeypatch, being_typed, action: str, way: str
) -> None:
    runs = []
    monkeypatch.setattr(window.many, "start" if action == "train" else "add", runs.append)
    if way == "mouse":
        click(qtbot, find(f"{action}_button"))
    else:
        window.toolbar.action(action).trigger()
    qtbot.waitUntil(lambda: bool(runs))
    config, tunables = make_settings({"env": TYPED})
    assert [(run.config, run.tunables) for run in runs] == [(config, tunables)]
    assert find("steps_spin").value() == config.steps
    assert window.live.tunables() == tunables


def test_a_preset_of_an_environment_that_is_being_typed_has_nothing_of_the_one_before(
    qtbot, window, being_typed, tmp_path: Path
) -> None:
    path = tmp_path / "typed.toml"
    window.setup.findChild(PresetMenu, "preset_menu_button").export_to(path)
    qtbot.waitUntil(path.is_file)
    preset = parse_preset(path.read_text())
    assert (preset.env, preset.values) == (TYPED, {})


def test_an_environment_that_is_being_typed_is_remembered_with_its_own_settings(
    window, being_typed, tmp_path: Path
) -> None:
    settings = QSettings(str(tmp_path / "memory.ini"), QSettings.Format.IniFormat)
    SessionMemory(settings, window.setup, window.live, window.plots).save(None)
    values = json.loads(str(settings.value("forms")))
    assert make_settings(values) == make_settings({"env": TYPED})


@pytest.mark.parametrize("button", ["env_check_button", "info_columns_button"])
def test_an_environment_that_is_being_typed_is_examined_without_the_arguments_of_another(
    qtbot, window, find, monkeypatch, being_typed, button: str
) -> None:
    asked = []
    monkeypatch.setattr(EnvQuery, "ask", lambda _, *given, **__: asked.append(given))
    window.setup.make_all_fields()
    click(qtbot, find(button))
    assert (TYPED, "") in asked
    assert all(args == "" for _, args in asked)


def test_an_environment_that_was_typed_is_looked_up_without_the_arguments_of_another(
    qtbot, find, picker, monkeypatch, being_typed
) -> None:
    asked = []
    monkeypatch.setattr(EnvQuery, "ask", lambda _, *given, **__: asked.append(given))
    qtbot.keyClick(picker.lineEdit(), Qt.Key.Key_Return)
    assert asked == [(TYPED, "")]


# The list ----------------------------------------------------------------------------------------


def test_what_is_installed_is_listed_by_group_with_what_it_is_like(picker):
    listed = rows(picker)
    names = list(listed)
    for group in ("Classic control", "Box2D", "MuJoCo", "PyBullet"):
        assert listed[group] == ("", False)
        first = next(known for known in KNOWN if known.group == group)
        assert names[names.index(group) + 1] == first.env_id
    assert listed["BipedalWalker-v3"] == (
        "24 observations · 4 actions · 1,600 steps · solved at 300",
        True,
    )
    assert listed["Pendulum-v1"] == ("3 observations · 1 action · 200 steps", True)


def test_what_is_not_installed_is_greyed_and_says_how_to_get_it(monkeypatch, qtbot):
    monkeypatch.setattr(catalogue, "is_importable", lambda module: module != "mujoco")
    picker = EnvPicker()
    qtbot.addWidget(picker)
    assert rows(picker)["Ant-v5"] == ("Not installed: pip install 'gymnasium[mujoco]'", False)
    assert rows(picker)["BipedalWalker-v3"][1]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("walker", {"BipedalWalker-v3", "BipedalWalkerHardcore-v3", "Walker2d-v5"}),
        ("box2d", {k.env_id for k in KNOWN if k.group == "Box2D"}),
        ("MUJOCO", {k.env_id for k in KNOWN if k.group == "MuJoCo"}),
        ("classic", {"Pendulum-v1", "MountainCarContinuous-v0"}),
        ("nothing like it", set()),
    ],
)
def test_typing_finds_environments_by_name_and_by_simulator(picker, typed, found):
    completer = picker.completer()
    completer.setCompletionPrefix(typed)
    model = completer.completionModel()
    names = {model.index(i, 0).data() for i in range(model.rowCount())}
    assert {name for name in names if "Bullet" not in name} == found


def test_a_row_that_was_found_puts_its_name_into_the_field(qtbot, window, picker, find):
    editor = picker.lineEdit()
    window.activateWindow()
    editor.setFocus()
    editor.selectAll()
    qtbot.keyClicks(editor, "hardc")
    popup = picker.completer().popup()
    qtbot.waitUntil(popup.isVisible)
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, Qt.Key.Key_Return)
    assert picker.currentText() == "BipedalWalkerHardcore-v3"
    assert find("preset_combo").currentText() == "BipedalWalkerHardcore-v3"
    # Its preset has arguments, with which it is examined in another process.
    qtbot.waitUntil(lambda: facts(find).startswith("24 observations"), timeout=60_000)


def test_the_list_opens_at_the_environment_in_the_field(picker):
    for name in ("Ant-v5", "package.module:Class"):
        picker.setCurrentText(name)
        picker.showPopup()
        shown = picker.view().currentIndex().data()
        picker.hidePopup()
        assert picker.currentText() == name
        if name == "Ant-v5":
            assert shown == name


def test_a_script_that_sets_the_text_gets_facts_and_no_process(window, find, picker, monkeypatch):
    monkeypatch.setattr(EnvQuery, "ask", lambda *_, **__: pytest.fail("it asked"))
    picker.setCurrentText("Hopper-v5")
    assert facts(find) == "11 observations · 3 actions · 1,000 steps · solved at 3,800"
    picker.setCurrentText("some.module:Thing")
    assert facts(find) == ""


THRICE = "24 observations · 4 actions · 534 steps of 3 frames · solved at 300"
TWICE = "24 observations · 4 actions · 800 steps of 2 frames · solved at 300"
ONCE = "24 observations · 4 actions · 1,600 steps · solved at 300"


def test_the_steps_of_an_episode_are_those_of_the_agent(window, find, picker, monkeypatch) -> None:
    def ask(*_: object, **__: object) -> None:
        pytest.fail("the catalogue knows how long an episode is")

    monkeypatch.setattr(EnvQuery, "ask", ask)
    assert picker.currentText() == "BipedalWalker-v3"
    assert facts(find) == THRICE
    window.setup.environment.look_up()
    assert facts(find) == THRICE
    find("preset_combo").setCurrentText("BipedalWalker-v3-tqc")
    assert facts(find) == TWICE
    field = find("field_env_args")
    for args, expected in (("", ONCE), ('{"action_repeat":2}', TWICE)):
        field.setText(args)
        field.editingFinished.emit()
        assert facts(find) == expected


def test_what_is_said_of_an_environment_without_its_arguments_says_so(
    window, find, picker, monkeypatch
) -> None:
    def ask(query: EnvQuery, env_id: str, args: str, *, quick: bool) -> None:
        limits = {"max_episode_steps": 1000, "reward_threshold": None, "errors": 0, "warnings": 0}
        query.answered.emit({"obs_dim": 27, "act_dim": 8, "env_args": args, **limits})

    monkeypatch.setattr(EnvQuery, "ask", ask)
    config, _ = make_settings({"env": "Ant-v5"} | load_presets()["Ant-v5"].values)
    window.setup.show_settings(config)
    bare = "Without its arguments: 105 observations · 8 actions · 1,000 steps · solved at 6,000"
    assert facts(find) == bare
    find("field_env_args").editingFinished.emit()
    examined = "27 observations · 8 actions · 1,000 steps"
    assert facts(find) == examined
    picker.setCurrentText("Pendulum-v1")
    picker.setCurrentText("Ant-v5")
    assert facts(find) == examined


def test_facts_are_said_in_words() -> None:
    assert describe_env(1, 1, None, None) == "1 observation · 1 action · no time limit"
    assert (
        describe_env(2, 3, 50, -3.75) == "2 observations · 3 actions · 50 steps · solved at −3.75"
    )


# Environments of one's own -----------------------------------------------------------------------


@pytest.mark.slow
def test_an_own_environment_that_is_typed_is_looked_at_beside_the_window(
    qtbot, window, find, picker, own_module
):
    type_name(qtbot, picker, own_module)
    assert facts(find) == "Examining …"
    qtbot.waitUntil(lambda: "observations" in facts(find), timeout=60_000)
    assert facts(find) == "3 observations · 2 actions · no time limit"
    assert "window_envs" not in sys.modules


@pytest.mark.own_window
@pytest.mark.slow
def test_what_is_found_out_too_late_is_not_said_of_another_one(
    qtbot, window, find, picker, own_module
):
    type_name(qtbot, picker, own_module)
    assert facts(find) == "Examining …"
    type_name(qtbot, picker, "window_envs:Hanging")
    picker.setCurrentText("Ant-v5")
    assert "105 observations" in facts(find)
    type_name(qtbot, picker, own_module)
    qtbot.waitUntil(lambda: facts(find).startswith("3 observations"), timeout=60_000)


@pytest.mark.own_window
@pytest.mark.slow
def test_arguments_that_are_typed_are_tried_as_well(qtbot, window, find, picker, own_module):
    picker.setCurrentText(own_module)
    field = find("field_env_args")
    field.setText('{"size": 7}')
    field.editingFinished.emit()
    qtbot.waitUntil(lambda: "7 observations" in facts(find), timeout=60_000)
    config, _ = window.setup.settings(window.live.tunables())
    assert config.choice.kwargs == {"size": 7}
    picker.setCurrentText("Pendulum-v1")
    assert find("field_env_args").text() == ""


def test_the_disk_space_is_that_of_the_arguments_in_the_form(find, picker, monkeypatch) -> None:
    def ask(query: EnvQuery, env_id: str, args: str, *, quick: bool) -> None:
        limits = {"max_episode_steps": 1000, "reward_threshold": None, "errors": 0, "warnings": 0}
        query.answered.emit({"obs_dim": 27, "act_dim": 8, "env_args": args, **limits})

    monkeypatch.setattr(EnvQuery, "ask", ask)
    picker.setCurrentText("Ant-v5")
    find("preset_combo").setCurrentText("TD3 defaults")
    field, disk = find("field_env_args"), find("setup_disk")
    said = []
    for args in ("", '{"include_cfrc_ext_in_observation": false}', ""):
        field.setText(args)
        field.editingFinished.emit()
        said.append(disk.text())
    assert said[0] == said[2] != said[1]


def test_arguments_of_a_preset_go_with_it_and_those_of_the_user_stay(window, find, picker):
    picker.setCurrentText("BipedalWalker-v3")
    field, presets = find("field_env_args"), find("preset_combo")
    for preset, repeated in (
        ("BipedalWalker-v3", True),
        ("BipedalWalker-v3-long", False),
        ("BipedalWalker-v3", True),
        ("TD3 defaults", False),
    ):
        presets.setCurrentText(preset)
        config, _ = window.setup.settings(window.live.tunables())
        assert (config.choice.action_repeat == 3) is repeated
    field.setText('{"hardcore": true}')
    presets.setCurrentText("BipedalWalker-v3-long")
    assert field.text() == '{"hardcore": true}'


def test_arguments_stay_when_another_algorithm_is_chosen(window, find, picker):
    picker.setCurrentText("Ant-v5")
    find("field_env_args").setText('{"xml_file": "/a.xml"}')
    find("variant_combo").setCurrentText("DDPG")
    assert find("field_env_args").text() == '{"xml_file": "/a.xml"}'


def test_wrong_arguments_are_named_by_their_label_below_the_environment(find, picker):
    picker.setCurrentText("Pendulum-v1")
    find("advanced").expand()
    field = find("field_env_args")
    field.setText("[1]")
    field.editingFinished.emit()
    assert facts(find).startswith("Environment arguments cannot be '[1]': it is a list.")


@pytest.mark.own_window
@pytest.mark.parametrize(
    ("args", "words"),
    [
        ('{"size": ', "Environment arguments cannot be"),
        # Only the process that would train on it finds out.
        pytest.param(
            '{"sise": 3}', "Environment arguments cannot contain sise", marks=pytest.mark.slow
        ),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence_and_nothing_starts(
    qtbot, window, find, picker, own_module, tmp_path, args, words
):
    picker.setCurrentText(own_module)
    find("field_env_args").setText(args)
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: window.banner.isVisible(), timeout=60_000)
    assert words in window.banner.text
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=20_000)
    assert not (tmp_path / "runs").exists()


@pytest.mark.own_window
@pytest.mark.slow
def test_an_environment_that_was_trained_on_is_offered_from_then_on(
    qtbot, window, find, picker, own_module, tmp_path
):
    picker.setCurrentText(own_module)
    find("field_actor_hidden").setText("8")
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: own_module in rows(picker), timeout=60_000)
    assert "Yours" in rows(picker)
    window.controller.stop()
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=20_000)
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    settings.sync()
    again = build_window(tmp_path / "runs")
    assert own_module in rows(again.setup.environment.picker)
    again.close()
    again.deleteLater()


# The check ---------------------------------------------------------------------------------------


@pytest.fixture
def dialog(window) -> QDialog:
    return window.findChild(QDialog, "env_check_dialog")


def check(qtbot, find, dialog) -> str:
    click(qtbot, find("env_check_button"))
    assert dialog.isVisible()
    qtbot.waitUntil(dialog.findChild(QProgressBar).isHidden, timeout=60_000)
    return dialog.text


def checking(window) -> bool:
    """Return whether a check runs; a look-up is quick."""
    return any(
        process.state() != QProcess.ProcessState.NotRunning and "--quick" not in process.arguments()
        for process in window.setup.environment.findChildren(QProcess)
    )


@pytest.mark.slow
def test_the_check_shows_what_it_found(qtbot, window, find, picker, dialog):
    picker.setCurrentText("Pendulum-v1")
    said = check(qtbot, find, dialog)
    for words in ("No problems found", "✓", "from −2 to 2", "end after 200 steps at most"):
        assert words in said
    dialog.close()


@pytest.mark.slow
def test_the_check_takes_the_arguments_and_shows_errors_first(
    qtbot, window, find, picker, dialog, own_module
):
    picker.setCurrentText(own_module)
    find("field_env_args").setText('{"sound": false}')
    said = check(qtbot, find, dialog)
    assert "cannot be used for training as it is" in said
    assert said.index("✕") < said.index("✓")
    assert "contains nan" in said


@pytest.mark.own_window
@pytest.mark.slow
def test_a_module_that_was_corrected_has_no_problems_any_more(
    qtbot, window, find, picker, dialog, own_module, tmp_path: Path
):
    file, broken = tmp_path / "window_envs.py", OWN.replace("sound=True", "sound=False")
    file.write_text(broken)
    type_name(qtbot, picker, own_module)
    qtbot.waitUntil(lambda: "found problems" in facts(find), timeout=60_000)
    file.write_text(OWN)
    assert "No problems found" in check(qtbot, find, dialog)
    dialog.close()
    assert facts(find) == "3 observations · 2 actions · no time limit"


@pytest.mark.own_window
@pytest.mark.slow
def test_the_same_name_is_examined_again_after_a_problem(
    qtbot, window, find, picker, own_module, tmp_path: Path
):
    file = tmp_path / "window_envs.py"
    file.write_text("raise RuntimeError")
    type_name(qtbot, picker, own_module)
    qtbot.waitUntil(lambda: "RuntimeError" in facts(find), timeout=60_000)
    file.write_text(OWN)
    # As when a run of it starts.
    window.setup.environment.remember(own_module)
    qtbot.waitUntil(lambda: facts(find).startswith("3 observations"), timeout=60_000)
    assert "problems" not in facts(find)


@pytest.mark.own_window
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CartPole-v1", "discrete actions"),
        ("Pendulm-v1", "Pendulum-v1"),
        ("", "Enter the name"),
    ],
)
def test_the_check_says_why_an_environment_cannot_be_tried(
    qtbot, window, find, picker, dialog, name, words
):
    picker.setCurrentText(name)
    assert words in check(qtbot, find, dialog)


@pytest.mark.own_window
def test_closing_the_dialog_ends_a_check_that_hangs(
    qtbot, window, find, picker, dialog, own_module
):
    picker.setCurrentText("window_envs:Hanging")
    click(qtbot, find("env_check_button"))
    assert checking(window)
    dialog.close()
    assert not checking(window)


@pytest.mark.own_window
def test_closing_the_window_ends_a_check_that_hangs(qtbot, window, find, picker, own_module):
    picker.setCurrentText("window_envs:Hanging")
    click(qtbot, find("env_check_button"))
    window.close()
    assert not checking(window)


@pytest.mark.own_window
@pytest.mark.slow
def test_a_check_can_be_asked_for_again_while_one_goes_on(
    qtbot, window, find, picker, dialog, own_module
):
    picker.setCurrentText("window_envs:Hanging")
    click(qtbot, find("env_check_button"))
    picker.setCurrentText("Pendulum-v1")
    assert "No problems" in check(qtbot, find, dialog)


@pytest.mark.own_window
def test_a_check_of_an_empty_name_is_not_answered_by_one_that_still_goes_on(
    qtbot, window, find, picker, dialog, own_module
):
    picker.setCurrentText("window_envs:Hanging")
    click(qtbot, find("env_check_button"))
    assert checking(window)
    picker.setCurrentText("")
    click(qtbot, find("env_check_button"))
    assert not checking(window)


def test_every_new_control_has_a_name_for_ears(find):
    for name in ("env_combo", "env_check_button", "field_env_args", "field_env_check"):
        widget = find(name)
        assert isinstance(widget, QWidget)
        assert widget.accessibleName()
        assert widget.toolTip()


@pytest.mark.own_window
def test_what_other_packages_registered_is_listed_once_the_list_is_wanted(window, find) -> None:
    name = "Elsewhere-v0"
    gym.register(name, entry_point="somewhere_else:Env")
    try:
        picker = find("env_combo")
        assert picker.findText(name) < 0
        picker.lineEdit().setCursorPosition(3)
        picker.lineEdit().textEdited.emit("E")
        assert picker.lineEdit().cursorPosition() == 3
        assert picker.findText(name) > 0
        assert picker.currentText() == "BipedalWalker-v3"
    finally:
        del gym.registry[name]
