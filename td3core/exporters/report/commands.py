"""The commands that reproduce runs."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from td3core.checkpoint import Header, read_header
from td3core.config import RunConfig, Tunables, all_given
from td3core.config.presets import PLUS, compose
from td3core.config.value_text import typed
from td3core.errors import RequestError, brief
from td3core.exporters.report.run_facts import RunFacts
from td3core.protocol.events import JournalEvent
from td3core.runs.journal import made_by
from td3core.runs.layout import CHECKPOINTS, step_checkpoint
from td3core.runs.resumption import FIXED_BY_CHECKPOINT

_OPTIONS = ("env", "preset", "steps", "seed")
"""Settings with arguments or options of their own in the commands."""
_LONGEST = 200
"""Maximum length of each fact about an import, in characters."""


def commands_of(runs: Sequence[RunFacts]) -> list[str]:
    """Return the commands that reproduce runs, one for all runs that differ only in the seed.

    Imported runs have a comment with their origin instead.
    """
    found: dict[tuple[str, ...], list[RunFacts]] = {}
    for run in runs:
        found.setdefault(_key(run), []).append(run)
    return [_command(alike) for alike in found.values()]


def words_of_settings(config: RunConfig, tunables: Tunables) -> list[str]:
    """Return the options of ``train`` that give these settings, except the seed."""
    names = [name for name in config.preset.split(PLUS) if name]
    try:
        base = all_given(*compose(config.env, names, {}))
    except RequestError:
        # The user's preset does not exist here: all of its values are listed.
        names, base = [], {}
    now = all_given(config, tunables)
    changed = [
        name
        for name in now
        if name not in _OPTIONS and (name not in base or base[name] != now[name])
    ]
    # The environment's preset is used unless another one is named.
    presets = [word for name in names for word in ("--preset", name)]
    presets = [] if names == [config.env] else presets
    settings = [word for name in changed for word in ("--set", f"{name}={typed(now[name])}")]
    return [*presets, "--steps", str(config.steps), *settings]


def _key(run: RunFacts) -> tuple[str, ...]:
    """Return a key that runs of the same command share."""
    directory = run.directory
    if directory.parent is not None or _changed_live(run) or run.imported:
        return (str(run.path),)
    words = words_of_settings(directory.config, directory.first_tunables)
    return (directory.config.env, directory.group, *words)


def _changed_live(run: RunFacts) -> bool:
    return bool(made_by(run.entries, run.summary.env_steps))


def _command(runs: Sequence[RunFacts]) -> str:
    first, imported = runs[0].directory, runs[0].imported
    if imported is not None:
        # On one line: no part of a file name may escape from the comment.
        origin = (brief(imported.get(key, ""), _LONGEST) for key in ("kind", "file", "sha256"))
        return "# {}: imported from {}, {}, SHA-256 {}".format(first.path.name, *origin)
    config, tunables = first.config, first.first_tunables
    if first.parent is not None:
        return _branch_command(runs[0])
    seeds = [str(run.directory.config.seed) for run in runs]
    # Runs of a group need no special case: they train like any other run.
    option = ["--seeds", ",".join(seeds)] if len(runs) > 1 else ["--seed", seeds[0]]
    words = ["td3-studio", "train", config.env, *option, *words_of_settings(config, tunables)]
    if len(runs) == 1:
        words += _words_of_changes(runs[0])
    return shlex.join(words)


def _words_of_changes(run: RunFacts) -> list[str]:
    return ["--journal", run.path.name] if _changed_live(run) else []


def _branch_command(run: RunFacts) -> str:
    """Return the command of a branch; a comment if its checkpoint now holds another step."""
    parent = run.directory.parent
    assert parent is not None
    folder, checkpoint = run.path.parent, Path(parent.run) / CHECKPOINTS / parent.checkpoint
    # The last and best agent are overwritten as the parent goes on.
    own = step_checkpoint(Path(parent.run), parent.env_steps)
    headers = {path: _header_of(folder / path) for path in (checkpoint, own)}
    if headers[checkpoint] is not None:
        same = [path for path, h in headers.items() if h and _step_of(h) == parent.env_steps]
        if not same:
            return (
                f"# {run.path.name}: branched from step {parent.env_steps} of {parent.run}, which"
                " is no longer there"
            )
        checkpoint = same[0]
    words = ["td3-studio", "branch", *_words_of_branch(run, checkpoint, headers[checkpoint])]
    return shlex.join([*words, *_words_of_changes(run)])


def _header_of(path: Path) -> Header | None:
    try:
        return read_header(path)
    except RequestError:
        return None


def _step_of(header: Header) -> int:
    return header.counters.env_steps


def _words_of_branch(run: RunFacts, checkpoint: Path, header: Header | None) -> list[str]:
    """Return the arguments of ``branch``; all settings if the parent no longer exists."""
    directory = run.directory
    before = all_given(header.config, header.tunables) if header is not None else {}
    now = all_given(directory.config, directory.first_tunables)
    fixed = {"preset", "steps", "seed", *FIXED_BY_CHECKPOINT}
    settings = [
        word
        for name, value in now.items()
        if name not in fixed and (name not in before or before[name] != value)
        for word in ("--set", f"{name}={typed(value)}")
    ]
    seed = directory.config.seed
    # The parent may be gone; the journal has the seed of a branch with its own, too.
    reseeded = before.get("seed", seed) != seed or any(
        entry.get("event") == JournalEvent.BRANCH and "seed" in entry for entry in run.entries
    )
    drawn_anew = ["--seed", str(seed)] if reseeded else []
    return [str(checkpoint), "--steps", str(directory.config.steps), *drawn_anew, *settings]
