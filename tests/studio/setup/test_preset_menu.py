"""Presets of the user's own: saved, imported, exported and deleted from the Setup panel."""

import resource
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from studio.setup.preset_menu import PresetMenu
from td3core.config.presets import compose, load_presets, parse_preset

pytestmark = pytest.mark.shared_window


@pytest.fixture(autouse=True)
def own_presets(tmp_path, monkeypatch):
    monkeypatch.setenv("TD3_STUDIO_PRESETS", str(tmp_path / "own presets"))


@pytest.fixture
def menu(window) -> PresetMenu:
    return window.setup.findChild(PresetMenu, "preset_menu_button")


def change_settings(find) -> None:
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(4321)
    find("spin_tau").setValue(0.03)
    find("field_actor_hidden").setText("32, 16")


def test_settings_saved_as_a_preset_are_offered_and_bring_the_same_values(window, find, menu):
    change_settings(find)
    menu.save("My swing")
    assert find("preset_combo").currentText() == "My swing"
    find("preset_combo").setCurrentText("Pendulum-v1")
    assert find("steps_spin").value() == 20_000
    find("preset_combo").setCurrentText("My swing")
    config, tunables = window.setup.settings(window.live.tunables())
    assert (config.steps, config.actor_hidden, config.preset) == (4321, (32, 16), "My swing")
    assert (tunables.tau, tunables.gamma) == (0.03, 0.98)


def test_a_preset_removes_the_mark_of_the_wrong_text_it_replaces(qtbot, find):
    find("env_combo").setCurrentText("Pendulum-v1")
    find("advanced").expand()
    layers = find("field_actor_hidden")
    layers.setText("256, x")
    qtbot.keyClick(layers, Qt.Key.Key_Return)
    assert layers.property("invalid") is True
    assert layers.accessibleDescription().startswith("Actor layers cannot be '256, x'")
    find("variant_combo").setCurrentText("DDPG")
    assert layers.text() == "400, 300"
    assert layers.property("invalid") is False
    assert layers.accessibleDescription() == ""


@pytest.mark.parametrize("action", ["Save settings as preset…", "Export…"])
def test_the_settings_asked_about_are_kept_though_others_are_shown_by_then(
    qtbot, find, menu, monkeypatch, tmp_path, action: str
) -> None:
    change_settings(find)
    file = tmp_path / "My swing.toml"

    def answer(*_args) -> tuple[str, bool]:
        # As a run that starts from the queue does.
        find("spin_tau").setValue(0.5)
        return ("My swing", True) if action.startswith("Save") else (str(file), "")

    monkeypatch.setattr("studio.setup.preset_menu.QInputDialog.getText", answer)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    choose(menu, action)
    if action.startswith("Save"):
        assert load_presets()["My swing"].values["tau"] == 0.03
    else:
        qtbot.waitUntil(file.is_file)
        assert parse_preset(file.read_text()).values["tau"] == 0.03


def test_the_command_line_knows_a_preset_saved_in_the_window(find, menu):
    change_settings(find)
    menu.save("My swing")
    config, tunables = compose("Pendulum-v1", ["My swing"], {})
    assert (config.steps, tunables.tau) == (4321, 0.03)


def test_a_preset_goes_out_to_a_file_and_comes_in_again(qtbot, window, find, menu, tmp_path):
    change_settings(find)
    expected = window.setup.settings(window.live.tunables())
    menu.export_to(tmp_path / "shared.toml")
    qtbot.waitUntil((tmp_path / "shared.toml").is_file)
    find("env_combo").setCurrentText("BipedalWalker-v3")
    menu.import_from(tmp_path / "shared.toml")
    qtbot.waitUntil(lambda: find("preset_combo").currentText() == "shared")
    assert find("env_combo").currentText() == "Pendulum-v1"
    config, tunables = window.setup.settings(window.live.tunables())
    assert tunables == expected[1]
    assert (config.steps, config.actor_hidden) == (4321, (32, 16))


def test_an_export_that_fails_keeps_the_earlier_file(qtbot, window, find, menu, tmp_path) -> None:
    path = tmp_path / "shared.toml"
    path.write_text("earlier")
    change_settings(find)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, limits[1]))
    try:
        menu.export_to(path)
        qtbot.waitUntil(window.banner.isVisible)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "shared.toml cannot be written: File too large." in window.banner.text
    assert path.read_text() == "earlier"


@pytest.mark.parametrize("way", ["import_from", "export_to"])
def test_a_preset_file_is_read_and_written_outside_the_gui_thread(
    qtbot, find, menu, tmp_path, monkeypatch, way: str
) -> None:
    threads = []

    def note(*_: object) -> str:
        threads.append(threading.current_thread())
        return ""

    for name in ("read_text", "write_atomically"):
        monkeypatch.setattr(f"studio.setup.preset_menu.{name}", note)
    change_settings(find)
    getattr(menu, way)(tmp_path / "shared.toml")
    qtbot.waitUntil(lambda: bool(threads))
    assert threads[0] is not threading.main_thread()


def choose(menu: PresetMenu, entry: str) -> None:
    menu.menu().aboutToShow.emit()
    action = next(each for each in menu.menu().actions() if each.text() == entry)
    assert action.isEnabled()
    action.trigger()


@pytest.mark.parametrize("answer", ["delete", ""])
def test_a_preset_is_deleted_only_if_the_user_agrees(
    window, find, menu, monkeypatch, answer: str
) -> None:
    asked = []

    def choose_way(_parent, _name, _title, text: str, _ways, question: str) -> str:
        asked.append(f"{question} {text}")
        return answer

    monkeypatch.setattr("studio.setup.preset_menu.choose", choose_way)
    change_settings(find)
    menu.save("My swing")
    choose(menu, "Delete this preset")
    assert asked == [
        "Delete the preset My swing? It is one of Pendulum-v1. Deleting it cannot be undone."
    ]
    assert ("My swing" in load_presets()) is not bool(answer)
    assert (find("preset_combo").findText("My swing") < 0) is bool(answer)


def test_the_preset_asked_about_is_deleted_though_another_is_shown_by_then(
    find, menu, monkeypatch
) -> None:
    change_settings(find)
    menu.save("Kept")
    menu.save("Unwanted")

    def agree(*_args, question: str) -> str:
        # As a run that starts from the queue does.
        find("preset_combo").setCurrentText("Kept")
        return "delete"

    monkeypatch.setattr("studio.setup.preset_menu.choose", agree)
    choose(menu, "Delete this preset")
    assert "Kept" in load_presets()
    assert "Unwanted" not in load_presets()


def test_only_an_own_preset_can_be_deleted(find, menu) -> None:
    change_settings(find)
    menu.save("My swing")
    action = next(each for each in menu.menu().actions() if "Delete" in each.text())
    for name, own in (("My swing", True), ("Pendulum-v1", False), ("TD3 defaults", False)):
        find("preset_combo").setCurrentText(name)
        menu.menu().aboutToShow.emit()
        assert action.isEnabled() is own


def test_a_preset_is_exported_under_a_name_that_import_lists(
    qtbot, find, menu, tmp_path, monkeypatch
) -> None:
    typed = str(tmp_path / "tau_0.005")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (typed, "Presets (*.toml)"))
    change_settings(find)
    choose(menu, "Export…")
    qtbot.waitUntil(lambda: bool([*tmp_path.glob("tau*")]))
    (written,) = tmp_path.glob("tau*")
    assert written.name == "tau_0.005.toml"
    assert parse_preset(written.read_text("utf-8")).name == "tau_0.005"


@pytest.mark.parametrize(
    ("name", "words"),
    [("", "needs a name"), ("Pendulum-v1", "bundled"), ("DDPG", "bundled"), ("a" * 99, "80")],
)
def test_a_name_that_cannot_be_used_is_refused_with_a_sentence(window, find, menu, name, words):
    menu.save(name)
    assert words in window.banner.text
    assert window.banner.isVisible()


def test_a_file_that_is_no_preset_is_refused_and_the_form_stays(
    qtbot, window, find, menu, tmp_path
):
    change_settings(find)
    path = tmp_path / "bad.toml"
    path.write_text("name = 'x'\nenv = 'Pendulum-v1'\n[settings]\ntau = 7\n")
    menu.import_from(path)
    qtbot.waitUntil(lambda: "Target averaging cannot be 7" in window.banner.text)
    assert find("steps_spin").value() == 4321
    menu.import_from(tmp_path / "missing.toml")
    qtbot.waitUntil(lambda: "cannot be read" in window.banner.text)


@pytest.mark.parametrize("way", ["save", "import"])
@pytest.mark.parametrize("answer", ["replace", ""])
def test_a_preset_replaces_one_of_its_name_only_if_the_user_agrees(
    qtbot, window, find, menu, tmp_path, monkeypatch, way: str, answer: str
) -> None:
    asked = []

    def choose(_parent, _name, title: str, text: str, _ways) -> str:
        asked.append(f"{title}. {text}")
        return answer

    monkeypatch.setattr("studio.setup.preset_menu.choose", choose)
    change_settings(find)
    menu.save("fast")
    assert asked == []
    find("env_combo").setCurrentText("Ant-v5")
    if way == "save":
        menu.save(" fast ")
    else:
        menu.export_to(tmp_path / "fast.toml")
        qtbot.waitUntil((tmp_path / "fast.toml").is_file)
        menu.import_from(tmp_path / "fast.toml")
    qtbot.waitUntil(lambda: bool(asked))
    assert asked == [
        "There is a preset fast already. It is one of Pendulum-v1. Replacing it cannot be undone."
    ]
    preset = load_presets()["fast"]
    assert preset.env == ("Ant-v5" if answer else "Pendulum-v1")
    assert (preset.values.get("steps") == 4321) is not bool(answer)
    assert not window.banner.isVisible()


def test_arguments_of_a_preset_go_with_it_however_its_file_spells_them(
    window, find, menu, tmp_path
):
    find("env_combo").setCurrentText("Pendulum-v1")
    menu.save("Another")
    args = '{"action_repeat":"2,1@5e3"}'
    (tmp_path / "own presets" / "coarse.toml").write_text(
        f"name = 'coarse'\nenv = 'Pendulum-v1'\n[settings]\nenv_args = '{args}'\n"
    )
    menu.save("Third")
    find("preset_combo").setCurrentText("coarse")
    config, _ = window.setup.settings(window.live.tunables())
    assert config.choice.at(5001).action_repeat == 1
    # As when a run of it is opened.
    window.setup.show_settings(config)
    find("preset_combo").setCurrentText("Pendulum-v1")
    assert find("field_env_args").text() == ""


def test_names_that_look_like_paths_stay_in_the_presets_folder(find, menu, tmp_path):
    menu.save("../../escape")
    assert [p.name for p in tmp_path.rglob("*escape*")] == [
        p.name for p in (tmp_path / "own presets").iterdir()
    ]
    assert "../../escape" in load_presets()


def test_a_broken_file_among_the_own_presets_is_left_out_with_the_reason(find, menu, tmp_path):
    menu.save("Good one")
    (tmp_path / "own presets" / "broken.toml").write_text(
        "name = 'b'\nenv = 'Pendulum-v1'\n[settings]\ntau = 7\n"
    )
    menu.save("Another")
    assert {"Good one", "Another"} <= set(load_presets())
    assert "broken.toml: Target averaging cannot be 7" in find("preset_about").text()
    (tmp_path / "own presets" / "broken.toml").unlink()
    menu.save("Third")
    assert "broken.toml" not in find("preset_about").text()
