"""What a user without a mouse can rely on."""

from PySide6.QtCore import Qt


def tab_stops(window, count: int) -> list[str]:
    """Return the names of the widgets that Tab passes from the window's first one on."""
    each, found = window, list[str]()
    for _ in range(count):
        each = each.nextInFocusChain()
        if each.focusPolicy() & Qt.FocusPolicy.TabFocus and each.isVisible():
            found.append(each.objectName())
    return found


def test_tab_follows_what_is_seen(window) -> None:
    stops = tab_stops(window, 2000)
    names = ("train_button", "env_combo", "seed_spin", "seeds_edit", "steps_spin", "slider_tau")
    places = [stops.index(name) for name in names]
    assert places == sorted(places)
    assert stops.index("slider_tau") < stops.index("start_train_button")


def test_f6_goes_from_panel_to_panel_and_back(window, find) -> None:
    docks = [window.docks.dock(name) for name in ("setup", "live")]
    parts = [*docks, window.centralWidget(), window.docks.dock("replay")]
    action = window.toolbar.action
    find("env_combo").setFocus()
    for part in (*parts[1:], parts[0]):
        action("next_panel").trigger()
        assert part.isAncestorOf(window.focusWidget()), part.objectName()
    action("previous_panel").trigger()
    assert parts[-1].isAncestorOf(window.focusWidget())
    assert action("next_panel").shortcut().toString() == "F6"


def test_escape_closes_a_message(qtbot, window, find) -> None:
    window.banner.show_message("info", "All is well.")
    find("seed_spin").setFocus()
    qtbot.keyClick(find("seed_spin"), Qt.Key.Key_Escape)
    assert not window.banner.isVisible()


def test_help_opens_at_what_has_the_focus(window, find) -> None:
    from studio.help.viewer import HelpViewer

    for focused, page in (("slider_tau", "live-settings.md"), ("env_combo", "training.md")):
        find(focused).setFocus()
        window.toolbar.action("help").trigger()
        viewer = window.findChild(HelpViewer)
        assert viewer.view.page.name == page
        viewer.close()


def test_ctrl_q_closes_the_window(window) -> None:
    action = window.toolbar.action("quit")
    assert action.shortcut().toString() == "Ctrl+Q"
    action.trigger()
    assert not window.isVisible()
