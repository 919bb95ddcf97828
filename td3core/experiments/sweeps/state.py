"""The state of a sweep as shown by terminal and window, built from its study."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from td3core.experiments.sweeps.folder import SweepFolder, SweepState, TrialState
from td3core.experiments.sweeps.spec import Choices, Dimension, SweepSpec
from td3core.experiments.sweeps.study import SweepStudy, TrialRecord
from td3core.experiments.sweeps.trial import LiveTrial
from td3core.protocol.trial_status import TrialStatus
from td3core.text import NO_TEXT, Text


def state_of(
    spec: SweepSpec,
    folder: SweepFolder,
    records: Sequence[TrialRecord],
    live: Mapping[int, LiveTrial],
    *,
    seconds: float,
    running: bool,
    message: Text = NO_TEXT,
    rate: float = 0.0,
) -> SweepState:
    """Return the state of a sweep; ``rate`` is in trials per second."""
    ended = sum(each.state is not TrialStatus.RUNNING for each in records)
    left = (spec.trials - ended) / rate if running and rate else None
    if left is not None and spec.time_limit_min:
        left = min(left, max(spec.time_limit_min * 60 - seconds, 0.0))
    return SweepState(
        name=spec.name,
        environment=spec.environment,
        objective=spec.objective,
        path=str(folder.path),
        wanted=spec.trials,
        seconds=seconds,
        time_left_s=left,
        running=running,
        message=message,
        trials=tuple(_trial(spec, folder, each, live.get(each.number)) for each in records),
        space={name: _plain(each) for name, each in spec.space.items()},
    )


def read_sweep(folder: SweepFolder) -> SweepState:
    """Return the state of a sweep from its study.

    Raises:
        RequestError: it cannot be read, or is lost though the sweep has runs.
    """
    spec = folder.spec()
    with _study(folder, spec) as study:
        records, seconds = study.trials(), study.seconds_used()
    if not records and folder.has_runs:
        raise folder.no_study()
    shown = folder.read_state()
    running = bool(shown and shown.running)
    state = state_of(spec, folder, records, {}, seconds=seconds, running=running)
    return state if not (shown and running) else shown


def importance_of(folder: SweepFolder) -> dict[str, float]:
    """Return how much the best tenth of the trials differ from the rest in each setting.

    Shares of the sum, largest first; empty with fewer than
    :data:`~td3core.protocol.importance.FEWEST_TRIALS` completed trials. Watanabe, Bansal and
    Hutter, *PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in Arbitrary Subspaces*,
    IJCAI 2023.

    Raises:
        RequestError: the study cannot be read.
    """
    with _study(folder, folder.spec()) as study:
        return study.importance()


def _study(folder: SweepFolder, spec: SweepSpec) -> SweepStudy:
    """Open a study to read it; a missing one is not created."""
    if not folder.has_study:
        raise folder.no_study()
    return SweepStudy(folder.study_file, spec)


def _trial(
    spec: SweepSpec, folder: SweepFolder, record: TrialRecord, live: LiveTrial | None
) -> TrialState:
    paths = [folder.run_path(record.number, seed) for seed in spec.seeds]
    reason = record.reason
    if record.pruned_at is not None and record.state is not TrialStatus.FAILED:
        reason = Text("pruned at step {step:,}", step=record.pruned_at)
    value, steps = record.value, record.env_steps
    if record.state is TrialStatus.DONE:
        steps = spec.steps * len(spec.seeds)
    if live is not None:
        steps = live.env_steps
        value = live.value(spec.objective)
    return TrialState(
        number=record.number,
        state=record.state,
        settings={k: list(v) if isinstance(v, tuple) else v for k, v in record.settings.items()},
        value=value if value is not None and math.isfinite(value) else None,
        env_steps=steps,
        seconds=record.seconds,
        runs=tuple(_names(paths)),
        reason=reason,
    )


def _names(paths: Sequence[Path]) -> list[str]:
    return [path.name for path in paths]


def _plain(dimension: Dimension) -> dict[str, Any]:
    if isinstance(dimension, Choices):
        values = [list(each) if isinstance(each, tuple) else each for each in dimension.values]
        return {"choices": values}
    return {
        "low": dimension.low,
        "high": dimension.high,
        "log": dimension.log,
        "whole": dimension.whole,
    }
