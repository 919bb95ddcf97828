"""What the importance of a sweep's settings tells, and from how many trials."""

from td3core.text import Text

FEWEST_TRIALS = 20
"""Completed trials from which the importance is shown. It rests on the best tenth of them:
with a single trial in it, the order of the settings would be chance."""


def about_importance(trials: int) -> Text:
    """Return what the importance measures, and from how many completed trials."""
    return Text(
        "How much the best tenth of {n} trials differ from the rest in each setting, as a share"
        " of the sum.",
        n=trials,
    )


def too_few_trials(done: int) -> Text:
    """Return why the importance is not shown after this many completed trials."""
    return Text.counted(
        "Shown after {least} completed trials; there is {n} so far.",
        "Shown after {least} completed trials; there are {n} so far.",
        n=done,
        least=FEWEST_TRIALS,
    )
