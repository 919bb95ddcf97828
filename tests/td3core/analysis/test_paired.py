"""Pairs of runs that differ in a change: mean difference, interval, and a careful sentence."""

import pytest
import scipy  # its statistics are loaded with their first use

from td3core.analysis.paired import paired_difference


def test_the_interval_is_that_of_the_paired_t_test() -> None:
    first, second = (10.0, 14.0, 21.0, 17.0), (9.0, 10.0, 12.0, 15.0)
    found = paired_difference(first, second)
    known = scipy.stats.ttest_rel(first, second).confidence_interval(0.95)
    assert found.mean == 4.0
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ((30.0, 35.0, 40.0), "After 20,000 steps 35 [23, 47] better, 3 of 3 pairs."),
        ((-30.0, -35.0, -40.0), "After 20,000 steps 35 [23, 47] worse, 3 of 3 pairs."),
        (
            (1.0, 35.0, 60.0),
            "After 20,000 steps no clear difference: 32 [−42, 106], higher in 3 of 3 pairs.",
        ),
        ((0.0, 0.0), "no clear difference: 0.0000 [0.0000, 0.0000], higher in 0 of 2 pairs."),
        ((-0.04, -200.0, 199.92), "no clear difference: 0 [−497, 497], higher in 1 of 3 pairs."),
        ((35.0,), "After 20,000 steps 35 higher, in one pair: one seed proves nothing."),
        ((0.0,), "After 20,000 steps equal, in one pair: one seed proves nothing."),
        ((-0.5,), "After 20,000 steps 0.50 lower, in one pair: one seed proves nothing."),
    ],
)
def test_better_is_said_only_where_the_interval_excludes_0(
    differences: tuple[float, ...], said: str
) -> None:
    found = paired_difference(differences, [0.0] * len(differences))
    assert str(found.in_words(20_000)).endswith(said)
    assert found.is_certain == ("better" in said or "worse" in said)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        paired_difference((), ())
