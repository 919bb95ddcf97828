"""The seeds of a group, as text: ``5`` for the first five, ``0-4,7`` for these."""

import re
from collections.abc import Sequence
from itertools import pairwise

from td3core.config.run_config import HIGHEST_SEED
from td3core.errors import RequestError, brief
from td3core.text import SettingName, Text

MOST_SEEDS = 1000
_HINT = Text("Give a number of seeds such as 5, or a list such as 0-4,7.")
_PART = re.compile(r"(\d{1,12})(?:\s*-\s*(\d{1,12}))?", re.ASCII)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds that a text names, in its order.

    A single number is a count, starting at seed 0; a list has commas or ranges.

    Raises:
        RequestError: it names no seeds, too many, one twice, or has another form.
    """
    words = text.strip()
    if not words:
        raise RequestError("{key} is empty. {hint}", key=SettingName("seeds"), hint=_HINT)
    if words.isascii() and words.isdigit():
        return tuple(range(_count(words)))
    seeds: list[int] = []
    # One trailing comma makes a list of a single seed: "7,".
    for part in words.removesuffix(",").split(","):
        first, last = _range(part.strip(), text)
        if len(seeds) + last - first + 1 > MOST_SEEDS:
            raise _too_many()
        seeds += range(first, last + 1)
    if len(set(seeds)) < len(seeds):
        twice = next(seed for seed in seeds if seeds.count(seed) > 1)
        raise RequestError(
            "{key} contains {seed} twice; name each seed once.",
            key=SettingName("seeds"),
            seed=twice,
        )
    return tuple(seeds)


def format_seeds(seeds: Sequence[int]) -> str:
    """Return the shortest text that :func:`parse_seeds` reads as these seeds."""
    if not seeds:
        return ""
    if tuple(seeds) == tuple(range(len(seeds))):
        return str(len(seeds))
    starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(seeds)) if b != a + 1), len(seeds)]
    parts = [seeds[begin:end] for begin, end in pairwise(starts)]
    text = ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
    return f"{text}," if len(seeds) == 1 else text


def _count(digits: str) -> int:
    count = int(digits[:12])
    if count < 1:
        raise RequestError(
            "{key} cannot be {count}. {hint}", key=SettingName("seeds"), count=count, hint=_HINT
        )
    if count > MOST_SEEDS:
        raise _too_many()
    return count


def _range(part: str, text: str) -> tuple[int, int]:
    """Return the first and last seed of ``3`` or ``0-4``."""
    found = _PART.fullmatch(part)
    if found is None:
        raise RequestError(
            "{key} cannot be {text}. {hint}",
            key=SettingName("seeds"),
            text=repr(brief(text, 60)),
            hint=_HINT,
        )
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    if last < first:
        raise RequestError(
            "{key} has the range {part}, which ends before it begins.",
            key=SettingName("seeds"),
            part=repr(part),
        )
    if last > HIGHEST_SEED:
        raise RequestError(
            "{key} cannot contain {seed}; the highest seed is {highest}.",
            key=SettingName("seeds"),
            seed=last,
            highest=HIGHEST_SEED,
        )
    return first, last


def _too_many() -> RequestError:
    return RequestError(
        "{key} names more than {most} seeds; start fewer.",
        key=SettingName("seeds"),
        most=MOST_SEEDS,
    )
