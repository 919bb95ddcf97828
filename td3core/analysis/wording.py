"""A comparison in words, the same on the terminal and in the window."""

from td3core.analysis.aggregate import PERCENT, RESAMPLES, Estimate
from td3core.analysis.results import SMOOTHED_EPISODES, Metric, is_info
from td3core.config.value_text import plain_return
from td3core.text import Text

_TITLES = {
    "eval": Text("Evaluation return: interquartile mean [{percent:g} % interval]", percent=PERCENT),
    "return": Text("Episode return: interquartile mean [{percent:g} % interval]", percent=PERCENT),
    "bias": Text(
        "Bias of the critics: interquartile mean [{percent:g} % interval]", percent=PERCENT
    ),
}
_DECIMALS = {"eval": 1, "return": 1}
_LARGE = 1_000
_SMALL = 3
"""Decimals of numbers that may be small, unlike returns."""


def metric_title(metric: Metric) -> Text:
    """Return the title of a metric's table."""
    if is_info(metric):
        return Text(
            "{column}: interquartile mean [{percent:g} % interval]", column=metric, percent=PERCENT
        )
    return _TITLES[metric]


def decimals_of(metric: Metric) -> int:
    """Return the number of decimals shown for a metric."""
    return _DECIMALS.get(metric, _SMALL)


FINAL_ABOUT = Text(
    "Per run the mean of its last evaluations: a tenth of them, at least 1 and at most 10 (of"
    " episodes at most 100). Then the interquartile mean over the runs."
)
BEST_ABOUT = Text(
    "Per run its best evaluation (of episodes the best mean of {count}). Then the interquartile"
    " mean over the runs. The best of many noisy values is too high: judge by the final return.",
    count=SMOOTHED_EPISODES,
)
DEVIATION_ABOUT = Text(
    "Per run the standard deviation of the bias over the states, mean of its last evaluations. It"
    " matters more than the mean: a constant offset does not change which action is best."
)
INTERVAL_ABOUT = Text(
    "In brackets the {percent:g} % interval of a bootstrap over the runs, {count:,} resamples, as"
    " in Agarwal et al. 2021.",
    percent=PERCENT,
    count=RESAMPLES,
)
IMPROVEMENT_ABOUT = Text(
    "How likely a run of the first group ends higher, by its final value, than a run of the second;"
    " ties count half. 0.5 means no difference."
)


def estimate_text(found: Estimate | None, decimals: int = 1) -> str:
    """Return a value with its interval, such as ``-168.0 [-180.1, -140.3]``.

    Without decimals if a number has four digits or more: they would be meaningless.
    """
    if found is None:
        return "-"
    ends = () if found.interval is None else (found.interval.low, found.interval.high)
    if any(abs(number) >= _LARGE for number in (found.value, *ends)):
        decimals = 0
    value, *written = (plain_return(number, decimals) for number in (found.value, *ends))
    return f"{value} [{', '.join(written)}]" if written else value
