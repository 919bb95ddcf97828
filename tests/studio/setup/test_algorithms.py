"""The algorithm of the form decides which settings are offered."""

from pathlib import Path

import pytest

from tests.studio.fake_runs import make_run
from tests.studio.launch.test_resume import open_run

pytestmark = pytest.mark.shared_window

FIXED, LIVE = "field_quantiles", "dropped_quantiles"


def offered(window, find) -> tuple[bool, bool]:
    """Return whether the fixed and the live setting that only TQC uses are offered."""
    find("advanced").expand()
    return find(FIXED).isVisibleTo(window.setup), not window.live.row(LIVE).isHidden()


def test_settings_of_another_algorithm_are_not_offered(window, find) -> None:
    assert offered(window, find) == (False, False)
    find("field_algorithm").setCurrentText("tqc")
    assert offered(window, find) == (True, True)
    find("field_algorithm").setCurrentText("ddpg")
    assert offered(window, find) == (False, False)


def test_a_variant_offers_the_settings_of_its_algorithm(window, find) -> None:
    find("variant_combo").setCurrentText("TQC")
    config, _ = window.setup.settings(window.live.tunables())
    assert config.algorithm == "tqc"
    assert offered(window, find) == (True, True)
    find("variant_combo").setCurrentIndex(0)
    assert offered(window, find) == (False, False)


def test_an_opened_run_offers_the_settings_of_its_algorithm(
    qtbot, window, find, runs_dir: Path
) -> None:
    open_run(qtbot, window, make_run(runs_dir, name="quantile", algorithm="tqc"))
    assert offered(window, find) == (True, True)
    open_run(qtbot, window, make_run(runs_dir, name="plain"))
    assert offered(window, find) == (False, False)


def test_a_preset_of_another_algorithm_is_not_called_td3(window, find) -> None:
    find("preset_combo").setCurrentText("BipedalWalker-v3-tqc")
    assert find("variant_combo").currentText() == "TQC of the preset"
    find("variant_combo").setCurrentText("DDPG")
    config, _ = window.setup.settings(window.live.tunables())
    assert (config.algorithm, config.twin_critics) == ("td3", False)
    find("preset_combo").setCurrentText("BipedalWalker-v3")
    find("variant_combo").setCurrentIndex(0)
    assert find("variant_combo").currentText() == "TD3"


def test_the_choice_of_algorithms_says_what_an_opened_run_was_trained_with(
    qtbot, window, find, runs_dir: Path
) -> None:
    open_run(qtbot, window, make_run(runs_dir, name="quantile", algorithm="tqc"))
    assert find("variant_combo").currentText() == "TQC, set in Advanced"
    open_run(qtbot, window, make_run(runs_dir, name="plain"))
    assert find("variant_combo").currentText() == "TD3"


@pytest.mark.parametrize(
    ("preset", "variant", "algorithm"),
    [
        ("BipedalWalker-v3", "TD3", "tqc"),
        ("BipedalWalker-v3", "TQC", "td3"),
        ("BipedalWalker-v3-tqc", "TQC of the preset", "td3"),
        ("BipedalWalker-v3-tqc", "TQC", "ddpg"),
    ],
)
def test_an_algorithm_chosen_in_advanced_replaces_that_of_the_variant(
    window, find, preset: str, variant: str, algorithm: str
) -> None:
    find("preset_combo").setCurrentText(preset)
    find("variant_combo").setCurrentText(variant)
    find("advanced").expand()
    find("field_algorithm").setCurrentText(algorithm)
    config, _ = window.setup.settings(window.live.tunables())
    assert (config.algorithm, config.preset) == (algorithm, preset)
    own = "TQC" if preset.endswith("tqc") else "TD3"
    title = algorithm.upper()
    assert find("variant_combo").currentText() == (
        "TD3" if title == own else f"{title}, set in Advanced"
    )
    assert "truncated quantile" not in find("preset_about").text()
    # Every variant can still be chosen, and brings its algorithm.
    for again in ("TQC", "TD3 without delay"):
        find("variant_combo").setCurrentText(again)
        config, _ = window.setup.settings(window.live.tunables())
        assert config.algorithm == again[:3].lower()
        assert find("variant_combo").currentText() == again
    find("variant_combo").setCurrentIndex(0)
    assert window.setup.settings(window.live.tunables())[0].algorithm == own.lower()
