"""Records numbers of the environment's ``info`` for finished episodes."""

import math

from td3core.arrays import Doubles
from td3core.config.info_columns import PREFIX, columns_of
from td3core.envs.info_means import NOT_FINITE
from td3core.text import Text, Value


class InfoRecord:
    """Names an episode's means, and reports once per column and reason why it is empty."""

    def __init__(self, names: str) -> None:
        """``names``: the setting ``info_columns``."""
        self._columns = columns_of(names)
        self._said: set[tuple[str, float]] = set()
        self._new: list[Text] = []

    def means(self, row: Doubles, episode: int) -> dict[str, float]:
        """Return the means of an episode, by column (columns,); NaN where unusable."""
        found = {}
        for column, value in zip(self._columns, row.tolist(), strict=True):
            found[column] = value if math.isfinite(value) else math.nan
            if math.isinf(value) and (column, value) not in self._said:
                self._said.add((column, value))
                self._new.append(_problem(value, column, episode))
        return found

    def take_problems(self) -> list[Text]:
        """Return the problems not returned before."""
        said, self._new = self._new, []
        return said


def _problem(value: float, column: str, episode: int) -> Text:
    values: dict[str, Value] = {
        "column": column,
        "name": column.removeprefix(PREFIX),
        "episode": episode,
    }
    if value == NOT_FINITE:
        return Text(
            "{column} stays empty for episodes in which the environment returned a {name} that is"
            " not finite; the first is episode {episode}.",
            **values,
        )
    return Text(
        "{column} stays empty for episodes in which the environment returned a {name} that is no"
        " number; the first is episode {episode}.",
        **values,
    )
