"""Which checkpoint a run resumes from, and what else resuming needs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from td3core import checkpoint
from td3core.checkpoint import Checkpoint
from td3core.checkpoint.resumable import require_resumable
from td3core.config import RunConfig, changes, follows, pinned
from td3core.config.run_config import COMPILED, TORCH
from td3core.envs.info import EnvInfo
from td3core.errors import RequestError, brief
from td3core.protocol.events import JournalEvent
from td3core.runs import journal
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, Entry
from td3core.system import numerics, timestamp
from td3core.text import SettingName, Text

FIXED_BY_CHECKPOINT = (
    "env",
    "env_args",
    "num_envs",
    "actor_hidden",
    "critic_hidden",
    "twin_critics",
    "algorithm",
    "quantiles",
    "actor_activation",
    "critic_activation",
    "critic_layer_norm",
    "normalize_observations",
    "buffer_size",
    # The replay buffer holds scaled rewards.
    "reward_scale",
)
"""Settings that shape the contents of a checkpoint. The seed may differ in a branch, for random
numbers after the checkpoint, but not in the run itself."""

_READ_FROM_RUN = (
    "update_while_stepping",
    "learning_starts",
    "eval_interval",
    "eval_episodes",
    "bias_interval",
    "device",
)
"""Settings with an effect that a resumed run takes from its ``run.toml``, where they may have been
edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """A checkpoint that a run continues from."""

    path: Path
    saved: Checkpoint
    origin: JournalEvent
    """``resume`` or ``branch``, as in the journal."""
    deviations: tuple[Text, ...] = ()
    """Differences from a run that was never interrupted."""
    reseeded: bool = False
    """Whether all later random numbers come from another seed than before."""

    @property
    def env_steps(self) -> int:
        """The step of the checkpoint."""
        return self.saved.header.counters.env_steps

    @property
    def has_early_row(self) -> bool:
        """Whether ``training.csv`` may have a row at its step over fewer updates than usual.

        It holds the metrics of these updates, too, for a full row.
        """
        tensors = self.saved.tensors
        # The updates of a step that failed are of no row yet; one at the step before it is whole.
        return bool(tensors["tally.counts"].any()) and "episodes.updated" not in tensors


def resume_point(run: RunDirectory) -> ResumePoint | None:
    """Return the newest checkpoint that a run can resume from.

    ``None`` means that the run was interrupted before its first checkpoint: it starts again, with
    the same seed and so with the same steps.

    Raises:
        RequestError: there are checkpoints, but a run cannot resume from any of them; or only
            curves were imported.
    """
    refusals: list[Text] = []
    for path in run.newest_first():
        try:
            saved = load_complete(path)
            _require_same_settings(run, path, saved)
        except RequestError as problem:
            refusals.append(problem.message)
        else:
            return ResumePoint(
                path=path,
                saved=saved,
                origin=JournalEvent.RESUME,
                deviations=(*refusals, *_edits(run, path, saved)),
            )
    if refusals:
        raise RequestError(
            "{run} cannot be resumed: {reasons}", run=run.path.name, reasons=Text.joined(refusals)
        )
    if run.parent is not None:
        raise RequestError(
            "{run} was interrupted before it had copied {checkpoint} of {parent}; branch from that"
            " again.",
            run=run.path.name,
            checkpoint=run.parent.checkpoint,
            parent=run.parent.run,
        )
    # Starting again would replace curves imported from another program.
    run.require_agent()
    return None


def _require_same_settings(run: RunDirectory, path: Path, saved: Checkpoint) -> None:
    header = saved.header
    pairs = {
        name: (getattr(run.config, name), getattr(header.config, name))
        for name in differing(header.config, run.config, (*FIXED_BY_CHECKPOINT, "seed"))
    }
    # Live settings come from the checkpoint, so editing the first ones has no effect.
    changed_live = {entry.get("field") for entry in run.journal()}
    for name, first, now in changes(run.first_tunables, header.tunables):
        # The steps of a schedule depend on the length of the run.
        both = follows(run.first_tunables, name) and follows(header.tunables, name)
        if name not in changed_live and not both:
            pairs[name] = first, now
    for name, (value, found) in pairs.items():
        raise RequestError(
            "{name} is {value} in run.toml, but {saved} in {checkpoint}.",
            name=name,
            value=brief(value, 60),
            saved=brief(found, 60),
            checkpoint=path.name,
        )


def _edits(run: RunDirectory, path: Path, saved: Checkpoint) -> list[Text]:
    """Return the edits of ``run.toml`` that a resumed run follows."""
    then = saved.header.config
    return [
        Text(
            "{key} was {before} in {checkpoint} and is {now} in run.toml.",
            key=SettingName(name),
            before=str(getattr(then, name)),
            now=str(getattr(run.config, name)),
            checkpoint=path.name,
        )
        for name in differing(then, run.config, _READ_FROM_RUN)
    ]


def differing(
    one: RunConfig, other: RunConfig, names: Iterable[str] = FIXED_BY_CHECKPOINT
) -> Iterable[str]:
    """Return the ``names`` in which two configurations differ."""
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def load_complete(path: Path) -> Checkpoint:
    """Read a checkpoint that must hold everything a run resumes from.

    Raises:
        RequestError: it cannot be read, holds only networks, or is inconsistent.
    """
    saved = checkpoint.load(path)
    require_resumable(path.name, saved)
    return saved


def with_total_steps(
    run: RunDirectory, saved: Checkpoint | None, steps: int | None
) -> RunDirectory:
    """Return the run with a new number of steps, if one is given; it continues from ``saved``.

    Its initial schedules keep their values at each step (see :func:`journal_for`).

    Raises:
        RequestError: no steps are left, or it is a finished import and ``steps`` is not given.
    """
    name = run.path.name
    reached = saved.header.counters.env_steps if saved else 0
    config = run.config if steps is None else replace(run.config, steps=steps)
    total = config.steps
    ending = run.ending()
    # A run killed in its last evaluation has taken its last step, but has not ended.
    finished = ending is not None and ending.stopped == "finished"
    is_import = journal.import_of(run.journal()) is not None
    if is_import and finished and steps is None and reached < total:
        raise RequestError(
            "{run} was imported; branch it, or give it --steps to train it on in place.", run=name
        )
    if steps is not None and config.last_step < reached:
        raise RequestError(
            "{key} cannot be {steps}: {run} is at step {reached}.",
            key=SettingName("steps"),
            steps=steps,
            run=name,
            reached=reached,
        )
    if reached >= total and (finished or reached > config.last_step):
        raise RequestError(
            "{run} is at step {reached} of {total}; to resume it, give it more steps.",
            run=name,
            reached=reached,
            total=total,
        )
    first = run.first_tunables
    return run.with_config(
        config, pinned(first, run.config.steps) if total != run.config.steps else first
    )


_ENGINE_OF_PRODUCTS = {"numba": COMPILED, "MKL": TORCH, "oneDNN": TORCH}
_CLASS_OF_INSTRUCTIONS = {"AVX512": numerics.AVX512, "AVX2": numerics.AVX2}


def with_recorded_numerics(
    config: RunConfig, recorded: Mapping[str, str]
) -> tuple[RunConfig, list[Text]]:
    """Return a run's settings with the engine and numerics class it was trained with, and notices.

    ``recorded`` is the record in its checkpoint. Before these were settings, it held only the name
    of the library for matrix products and torch's instruction set; then the default kernels of such
    a processor are assumed.
    """
    notices: list[Text] = []
    if config.engine == numerics.AUTO and (used := recorded.get("products", "")):
        config = replace(config, engine=_ENGINE_OF_PRODUCTS.get(used, numerics.AUTO))
    if config.numerics == numerics.AUTO and recorded:
        name = class_on_record(recorded)
        config = replace(config, numerics=name)
        if "class" not in recorded:
            notices.append(
                Text("The kernels of this run were not recorded; assumed {name}.", name=name)
            )
    return config, notices


def class_on_record(recorded: Mapping[str, str]) -> str:
    """Return the numerics class in which a checkpoint was made; assumed for old records."""
    if recorded.get("class") in numerics.CLASSES:
        return recorded["class"]
    instructions = recorded.get("processor", "").rpartition(" ")[2]
    return _CLASS_OF_INSTRUCTIONS.get(instructions, numerics.natural())


def class_of_run(run: RunDirectory) -> str:
    """Return the class that a run was last trained in; ``auto`` if unknown."""
    if run.config.numerics != numerics.AUTO:
        return run.config.numerics
    try:
        recorded = checkpoint.read_header(run.last).numerics
    except RequestError:
        return numerics.AUTO
    return class_on_record(recorded) if recorded else numerics.AUTO


def journal_for(run: RunDirectory, saved: Checkpoint | None, steps: int) -> list[Entry]:
    """Return the journal with which a run continues that is to have ``steps``.

    If the length changes, schedules keep their values at each step: shares of the run become the
    steps that they stood for. For the settings in ``saved``, this conversion is a live change.
    """
    entries = run.journal()
    if steps != run.config.steps:
        entries = [journal.pinned(entry, run.config.steps) for entry in entries]
    # The checkpoint may have an earlier length: the run was killed just after a change of it.
    if saved is None or saved.header.config.steps == steps:
        return entries
    then, at = saved.header.tunables, saved.header.counters.env_steps
    later = {e["field"] for e in pending_entries(entries, saved) if e["step"] == at}
    found = changes(then, pinned(then, saved.header.config.steps))
    line = {"step": at, "time": timestamp.now()}
    return entries + [
        journal.converted(line | {"field": name, "old": old, "new": new})
        for name, old, new in found
        if name not in later
    ]


def pending_changes(entries: Iterable[Entry], saved: Checkpoint | None) -> list[Change]:
    """Return the live changes of a journal that a checkpoint does not contain yet."""
    return journal.changes_of(pending_entries(entries, saved) if saved else entries)


def pending_entries(entries: Iterable[Entry], saved: Checkpoint) -> list[Entry]:
    """Return the journal lines of live changes that a checkpoint does not contain yet, by step."""
    counters = saved.header.counters
    fields = sorted((e for e in entries if "field" in e), key=lambda entry: entry["step"])
    here = [entry for entry in fields if entry["step"] == counters.env_steps]
    later = [entry for entry in fields if entry["step"] > counters.env_steps]
    return here[counters.changes :] + later


def require_same_sizes(point: ResumePoint, info: EnvInfo) -> None:
    """Refuse an environment whose spaces differ from those that the agent was trained in.

    Raises:
        RequestError: sizes or bounds differ.
    """
    require_same_spaces(point.saved.header.env, info, point.path)


def require_same_spaces(then: EnvInfo, info: EnvInfo, checkpoint: Path) -> None:
    """Refuse an environment whose spaces differ from ``then``, when ``checkpoint`` was saved.

    Raises:
        RequestError: sizes or bounds differ.
    """
    for name in ("obs_dim", "act_dim", "action_low", "action_high"):
        before, now = getattr(then, name), getattr(info, name)
        if before != now:
            raise RequestError(
                "{env} has changed since {checkpoint} was saved: its {name} was {before} and is"
                " {now}.",
                env=info.env_id,
                checkpoint=checkpoint.name,
                name=name,
                before=before,
                now=now,
            )
