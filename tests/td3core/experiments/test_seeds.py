"""Seeds as text: what is read, what is written, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.config.run_config import HIGHEST_SEED
from td3core.errors import RequestError
from td3core.experiments.groups.seeds import (
    MOST_SEEDS,
    format_seeds,
    parse_seeds,
)

SEEDS = st.lists(st.integers(0, HIGHEST_SEED), min_size=1, max_size=30, unique=True)


@given(SEEDS)
def test_seeds_are_read_as_they_were_written(seeds: list[int]) -> None:
    assert parse_seeds(format_seeds(seeds)) == tuple(seeds)
    assert parse_seeds(",".join(map(str, seeds)) + ",") == tuple(seeds)


@given(st.text(st.sampled_from("0123456789-, x٣²\n"), max_size=20) | st.text(max_size=20))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    refused = ""
    try:
        seeds = parse_seeds(text)
    except RequestError as problem:
        refused = str(problem)
    if refused:
        assert refused.startswith("seeds ")
        assert refused.endswith(".")
    else:
        assert 0 < len(seeds) == len(set(seeds)) <= MOST_SEEDS
        assert all(0 <= seed <= HIGHEST_SEED for seed in seeds)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("5", (0, 1, 2, 3, 4)),
        ("1", (0,)),
        ("0-4,7", (0, 1, 2, 3, 4, 7)),
        (" 3 , 1 - 2 ", (3, 1, 2)),
        ("7,", (7,)),
        ("2147483647,", (2147483647,)),
    ],
)
def test_a_number_counts_and_a_list_names(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "seeds is empty"),
        ("0", "seeds cannot be 0"),
        ("-3", "seeds cannot be '-3'"),
        ("1,2,1", "seeds contains 1 twice"),
        ("0-4,3", "seeds contains 3 twice"),
        ("4-1", "ends before it begins"),
        ("1001", "more than 1000 seeds"),
        ("0-2000000000", "more than 1000 seeds"),
        ("9" * 500, "more than 1000 seeds"),
        ("2147483648,", "the highest seed is 2147483647"),
        ("five", "seeds cannot be 'five'"),
        ("1,,2", "seeds cannot be '1,,2'"),
        ("1.5", "seeds cannot be '1.5'"),
    ],
)
def test_what_names_no_seeds_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_seeds(text)
    assert sentence in str(caught.value)
