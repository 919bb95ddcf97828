"""Reads the four files of the authors' TD3: ``NAME_actor``, ``NAME_critic``, optimisers.

They do not contain ``max_action``: it is the environment's bound, in both directions.
"""

from pathlib import Path
from typing import Any

from td3core.importers.archive import read_file
from td3core.importers.damage import UnexpectedError, reading
from td3core.importers.foreign import (
    NO_OPTIMISERS,
    NO_TARGETS,
    OWN_SETTINGS,
    ForeignAgent,
    Moments,
    moments_of,
    numbered,
    reasons_among,
    require_no_more,
    source,
    take_layers,
)
from td3core.importers.tensors import read_pth, state_dict
from td3core.system.regular_files import is_regular
from td3core.text import Text

_ACTOR, _CRITIC = "_actor", "_critic"
_OPTIMISERS = ("_actor_optimizer", "_critic_optimizer")
_ENDS = (*_OPTIMISERS, _ACTOR, _CRITIC)


def is_readable(path: Path) -> bool:
    """Return whether a file is one of the four, or their common name."""
    return _stem(path) is not None


def _stem(path: Path) -> Path | None:
    name = path.name
    if not name:
        return None
    for end in _ENDS:
        if name.endswith(end) and len(name) > len(end):
            return path.with_name(name.removesuffix(end))
    return path if is_regular(path.with_name(f"{name}{_ACTOR}")) else None


def read(path: Path) -> ForeignAgent:
    """Return the agent of the four files, given one of them.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    stem = _stem(path)
    assert stem is not None
    actor_file, critic_file = (stem.with_name(f"{stem.name}{end}") for end in (_ACTOR, _CRITIC))
    found, sources = {}, []
    for file in (actor_file, critic_file):
        with reading(file.name, "the file"):
            data = read_file(file)
            found[file] = state_dict(read_pth(data))
            sources.append(source(file.name, data))
    with reading(actor_file.name, "the actor"):
        tensors = found[actor_file]
        actor = take_layers(tensors, ("l1", "l2", "l3"))
        require_no_more(tensors)
    with reading(critic_file.name, "the critics"):
        tensors = found[critic_file]
        names = numbered(tensors, "l", begin=1, step=1)
        if len(names) not in (3, 6):
            raise UnexpectedError(
                Text.counted(
                    "there is {n} layer in place of 3 or 6",
                    "there are {n} layers in place of 3 or 6",
                    n=len(names),
                )
            )
        inputs = actor[0][0].shape[1] + actor[-1][0].shape[0]
        critics = tuple(
            take_layers(tensors, names[at : at + 3], inputs=inputs, outputs=1)
            for at in range(0, len(names), 3)
        )
        require_no_more(tensors)
    moments, settings, notes = _optimisers(stem, (actor,), critics, sources)
    single = {} if len(critics) > 1 else {"policy_delay": 1, "policy_noise": 0.0}
    return ForeignAgent(
        kind="sfujim/TD3" if len(critics) > 1 else "sfujim/TD3 OurDDPG",
        actor=actor,
        critics=critics,
        actor_moments=moments[0],
        critic_moments=moments[1],
        scaled_actions=True,
        likely_env="_".join(stem.name.split("_")[1:-1]),
        settings=settings | single,
        notes=(OWN_SETTINGS, NO_TARGETS, *notes),
        sources=tuple(sources),
    )


def _optimisers(
    stem: Path, actor: Any, critics: Any, sources: list[tuple[str, str]]
) -> tuple[list[Moments | None], dict[str, Any], list[Text]]:
    """Return the moments of both optimisers, the learning rates, and notes."""
    moments: list[Moments | Text] = []
    settings = {}
    for end, networks in zip(_OPTIMISERS, (actor, critics), strict=True):
        file = stem.with_name(f"{stem.name}{end}")
        if not is_regular(file):
            moments.append(NO_OPTIMISERS)
            continue
        with reading(file.name, "the file"):
            data = read_file(file)
            kept, rate = moments_of(read_pth(data), networks)
            moments.append(kept)
            sources.append(source(file.name, data))
        if rate is not None:
            settings[f"{end.split('_')[1]}_lr"] = rate
    found = [each if isinstance(each, Moments) else None for each in moments]
    return found, settings, reasons_among(moments)
