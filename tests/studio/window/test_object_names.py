"""A script that looks for a widget by its object name finds the one it means."""

from collections import Counter

from PySide6.QtWidgets import QWidget

from tests.studio.fake_runs import make_run

STYLED = {"card", "form_page"}
"""Names by which the style sheet knows a kind of widget."""
QT_OWN = ("qt_", "ScrollLeftButton", "ScrollRightButton")


def test_no_two_widgets_share_an_object_name(qtbot, window, runs_dir) -> None:
    runs = [make_run(runs_dir, seed=seed).path for seed in range(2)]
    for name in ("runs", "many", "sweeps", "instruments", "log", "algorithm"):
        window.docks.open(name)
    with qtbot.waitSignal(window.comparison.session.opened, timeout=20_000):
        window.comparison.session.compare(runs)
    names = Counter(
        widget.objectName()
        for widget in window.findChildren(QWidget)
        if widget.objectName() and not widget.objectName().startswith(QT_OWN)
    )
    assert {"compare_heading", "compare_agents_heading", "sweep_trials"} <= set(names)
    assert [name for name, count in names.items() if count > 1 and name not in STYLED] == []
