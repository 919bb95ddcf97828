"""People do with the real window what they came for."""

from pathlib import Path

import pytest

from tests.support.marks import release, slow
from tests.walkthroughs.__main__ import PEOPLE, walk

FIRST, *OTHERS = PEOPLE


@pytest.mark.parametrize("person", [*slow(FIRST), *release(*OTHERS)])
def test_each_of_them_sees_what_the_window_promises(person: str, tmp_path: Path) -> None:
    assert walk(person, tmp_path, "light", "1280x800") == 0
    assert list(tmp_path.glob("*.png"))
