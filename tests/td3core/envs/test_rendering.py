"""What counts as a picture of an environment."""

import numpy as np
import pytest

from td3core.envs.rendering import rgb_frame
from td3core.errors import RequestError


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_whole_numbers_up_to_255_are_a_picture(dtype: type) -> None:
    shown = np.arange(256).reshape(-1, 1, 1).repeat(3, axis=2).astype(dtype)
    found = rgb_frame(shown, "Own-v0", 0)
    assert found.dtype == np.uint8
    assert np.array_equal(found, shown)


@pytest.mark.parametrize(
    ("rendered", "named"),
    [
        (None, "NoneType"),
        ([np.zeros((4, 6, 3), np.uint8)], "list"),
        (np.zeros((4, 6), np.uint8), "uint8 (4, 6)"),
        (np.zeros((4, 6, 4), np.uint8), "uint8 (4, 6, 4)"),
        (np.zeros((0, 6, 3), np.uint8), "uint8 (0, 6, 3)"),
        # Cast to bytes, brightness from 0 to 1 would be black.
        (np.full((4, 6, 3), 0.9), "float64 (4, 6, 3)"),
        (np.ones((4, 6, 3), np.bool_), "bool (4, 6, 3)"),
        (np.full((4, 6, 3), -1), "int64 (4, 6, 3)"),
        (np.full((4, 6, 3), 256), "int64 (4, 6, 3)"),
    ],
)
def test_what_is_no_picture_is_refused_with_its_step_and_what_it_is(
    rendered: object, named: str
) -> None:
    with pytest.raises(RequestError) as caught:
        rgb_frame(rendered, "Own-v0", 7)
    assert str(caught.value) == (
        f"Own-v0 returned no picture at step 7: expected uint8 (height, width, 3), got {named}."
    )
