"""The sweep's trials in Optuna: sampling, results and pruning.

Optuna keeps everything in one SQLite file, so a sweep that is killed at any moment continues from
there. A started trial stays started; its settings are never sampled twice.
"""

import json
import logging
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from td3core.errors import RequestError, file_reason
from td3core.experiments.sweeps.spec import Choices, Range, SweepSpec
from td3core.protocol.importance import FEWEST_TRIALS
from td3core.protocol.trial_status import TrialStatus
from td3core.system.regular_files import require_own
from td3core.text import NO_TEXT, Text, from_plain, plain

_MEDIAN_AFTER_TRIALS = 4
_ASHA_KEEPS_ONE_IN = 3
_PATIENCE_S = 30
_REASON, _CLOSING, _STEPS = "reason", "pruned_at", "env_steps"
_STUDY = "sweep"
_DAMAGE = (
    SQLAlchemyError,
    optuna.exceptions.OptunaError,
    OSError,
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    StopIteration,
)
"""Exceptions caused by values in the file that this program did not write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One trial as recorded in the study."""

    number: int
    state: TrialStatus
    settings: Mapping[str, Any]
    """Without those that its algorithm fixes; empty if the sweep was killed while it drew them."""
    value: float | None
    """The objective; for a pruned trial the last one reported."""
    reason: Text = NO_TEXT
    pruned_at: int | None = None
    """Environment step at which pruning was decided."""
    env_steps: int = 0
    """Total over its runs if it was pruned or failed; otherwise the last step reported."""
    seconds: float = 0.0


_STATES = {
    TrialState.RUNNING: TrialStatus.RUNNING,
    TrialState.WAITING: TrialStatus.RUNNING,
    TrialState.COMPLETE: TrialStatus.DONE,
    TrialState.PRUNED: TrialStatus.PRUNED,
    TrialState.FAIL: TrialStatus.FAILED,
}


class SweepStudy:
    """Optuna's study of one sweep, in a file. Also a context manager.

    Every method that reads or writes the file raises a RequestError if it is damaged, locked or
    cannot be written.
    """

    def __init__(self, file: Path, spec: SweepSpec) -> None:
        """Open the study, or create it.

        Raises:
            RequestError: the file cannot be used.
        """
        self._spec, self._file = spec, file
        self._distributions = {name: _distribution(each) for name, each in spec.space.items()}
        optuna.logging.set_verbosity(optuna.logging.CRITICAL)
        logging.getLogger("alembic").setLevel(logging.ERROR)
        url = URL.create("sqlite", database=str(file)).render_as_string(hide_password=False)
        with self._using_file():
            require_own(file)
            self._storage = optuna.storages.RDBStorage(
                url, engine_kwargs={"connect_args": {"timeout": _PATIENCE_S}}
            )
            self._study = optuna.create_study(
                study_name=_STUDY,
                storage=self._storage,
                direction="maximize",
                load_if_exists=True,
                pruner=_pruner(spec),
            )

    @contextmanager
    def _using_file(self) -> Iterator[None]:
        """Raise a RequestError with the reason, whichever error Optuna raises."""
        try:
            with _quietly():
                yield
        except RequestError:
            raise
        except _DAMAGE as problem:
            # Prefer SQLite's own message, such as a full disk: Optuna reports invalid data.
            known = (problem, problem.__cause__)
            said = [each.orig for each in known if isinstance(each, DBAPIError) and each.orig]
            cause = said[0] if said else problem
            raise RequestError(
                "{file} cannot be used: {reason}.", file=str(self._file), reason=file_reason(cause)
            ) from problem

    def __enter__(self) -> "SweepStudy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._storage.remove_session()
        self._storage.engine.dispose()

    def importance(self) -> dict[str, float]:
        """Return how much the best tenth of the trials differ from the rest in each setting.

        Empty with fewer than :data:`FEWEST_TRIALS` completed trials.
        """
        complete = [each for each in self.trials() if each.state is TrialStatus.DONE]
        if len(complete) < FEWEST_TRIALS:
            return {}
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        with self._using_file():
            found = optuna.importance.get_param_importances(self._study, evaluator=evaluator)
        return {name: float(share) for name, share in found.items() if math.isfinite(share)}

    # Trials -------------------------------------------------------------------------------------

    def trials(self) -> list[TrialRecord]:
        """Return all trials by number."""
        with self._using_file():
            return [self._record(each) for each in self._study.get_trials(deepcopy=False)]

    def ask(self) -> TrialRecord:
        """Begin the next trial."""
        with self._using_file():
            number = len(self._study.get_trials(deepcopy=False))
        with self._sampling(number):
            trial = self._study.ask(fixed_distributions=self._distributions)
            return self._record(self._frozen(trial.number))

    def settings_of(self, record: TrialRecord) -> TrialRecord:
        """Sample the settings that a trial lacks if the sweep was killed while sampling them."""
        if record.settings:
            return record
        with self._sampling(record.number):
            trial = self._trial(record.number)
            for name, each in self._distributions.items():
                _suggest(trial, name, each)
            return self._record(self._frozen(record.number))

    def report(self, number: int, env_steps: int, value: float, *, may_prune: bool = True) -> bool:
        """Report the objective of a running trial at a step; return whether to prune it."""
        with self._using_file():
            known = self._frozen(number).intermediate_values
            trial = self._trial(number)
            if env_steps not in known:
                trial.report(value, env_steps)
            elif env_steps < max(known):
                return False
            # The newest value may be recorded without a decision, after a kill between the two.
            if not may_prune or not trial.should_prune():
                return False
            trial.set_user_attr(_CLOSING, env_steps)
            return True

    def complete(self, number: int, value: float) -> None:
        """Record the objective of a completed trial."""
        self._tell(number, TrialState.COMPLETE, value)

    def prune(self, number: int, env_steps: int) -> None:
        """Record that a trial was pruned, and the steps of all its runs."""
        with self._using_file():
            self._trial(number).set_user_attr(_STEPS, env_steps)
        self._tell(number, TrialState.PRUNED)

    def fail(self, number: int, reason: Text, env_steps: int) -> None:
        """Record that a trial failed, why, and the steps of all its runs."""
        with self._using_file():
            self._trial(number).set_user_attr(_REASON, plain(reason))
            self._trial(number).set_user_attr(_STEPS, env_steps)
        self._tell(number, TrialState.FAIL)

    def seconds_used(self) -> float:
        """Return the time taken by earlier sessions of the sweep."""
        with self._using_file():
            return float(self._study.user_attrs.get("seconds", 0.0))

    def use_seconds(self, seconds: float) -> None:
        """Record how long the sweep has taken so far."""
        with self._using_file():
            self._study.set_user_attr("seconds", seconds)

    def _tell(self, number: int, state: TrialState, value: float | None = None) -> None:
        # At the last point, a grid sampler would stop Optuna's loop, which does not run here.
        self._study.sampler = optuna.samplers.RandomSampler(seed=0)
        with self._using_file():
            self._study.tell(number, value, state=state, skip_if_finished=True)

    def _frozen(self, number: int) -> FrozenTrial:
        return self._study.get_trials(deepcopy=False)[number]

    def _trial(self, number: int) -> optuna.Trial:
        # Optuna's own way to continue a trial that another process began.
        return optuna.Trial(self._study, self._frozen(number)._trial_id)

    @contextmanager
    def _sampling(self, number: int) -> Iterator[None]:
        """Sample with the trial's own seed, so that a continued sweep draws the same settings.

        CMA-ES and the grid keep their state in the study, TPE and random sampling have none.
        """
        self._study.sampler = _sampler(self._spec, number)
        with self._using_file():
            yield

    def _record(self, found: FrozenTrial) -> TrialRecord:
        value = found.value if found.state is TrialState.COMPLETE else None
        if value is None and found.intermediate_values:
            value = found.intermediate_values[max(found.intermediate_values)]
        begun, ended = found.datetime_start, found.datetime_complete
        settings = {}
        if len(found.params) == len(self._distributions):
            params = {n: decode(self._spec, n, found.params[n]) for n in self._spec.space}
            settings = self._spec.without_fixed(params)
        return TrialRecord(
            number=found.number,
            state=_STATES[found.state],
            settings=settings,
            value=value,
            reason=from_plain(found.user_attrs.get(_REASON, "")),
            pruned_at=found.user_attrs.get(_CLOSING),
            # Earlier versions did not record it.
            env_steps=found.user_attrs.get(_STEPS, max(found.intermediate_values, default=0)),
            seconds=(ended - begun).total_seconds() if begun and ended else 0.0,
        )


# Optuna's objects --------------------------------------------------------------------------------


def _distribution(dimension: Range | Choices) -> BaseDistribution:
    if isinstance(dimension, Choices):
        return CategoricalDistribution([_encode(value) for value in dimension.values])
    low, high, log = dimension.low, dimension.high, dimension.log
    # Optuna lowers ``high`` to the last value that the steps reach, in exact decimals, and warns.
    with _quietly():
        if dimension.whole:
            return IntDistribution(int(low), int(high), log=log, step=int(dimension.step or 1))
        return FloatDistribution(low, high, log=log, step=dimension.step)


def _encode(value: Any) -> Any:
    """Return a choice as Optuna stores it: tuples are not accepted."""
    return json.dumps(value) if isinstance(value, tuple) else value


def decode(spec: SweepSpec, name: str, value: Any) -> Any:
    """Convert a value from Optuna to the setting's type."""
    dimension = spec.space[name]
    if isinstance(dimension, Choices):
        return next(each for each in dimension.values if _encode(each) == value)
    return int(value) if dimension.whole else float(value)


def _suggest(trial: optuna.Trial, name: str, found: BaseDistribution) -> None:
    if isinstance(found, CategoricalDistribution):
        trial.suggest_categorical(name, found.choices)
    elif isinstance(found, IntDistribution):
        trial.suggest_int(name, found.low, found.high, step=found.step, log=found.log)
    elif isinstance(found, FloatDistribution):
        trial.suggest_float(name, found.low, found.high, step=found.step, log=found.log)


def _sampler(spec: SweepSpec, number: int) -> optuna.samplers.BaseSampler:
    seed = spec.sampler_seed
    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    if spec.sampler == "grid":
        grid = {name: [_encode(v) for v in each.grid()] for name, each in spec.space.items()}
        return optuna.samplers.GridSampler(grid, seed=seed)
    if spec.sampler == "random":
        return optuna.samplers.RandomSampler(seed=own)
    if spec.sampler == "cmaes":
        _require_known_sampler()
        others = optuna.samplers.RandomSampler(seed=own)
        return _CmaEsSampler(seed=own, independent_sampler=others, warn_independent_sampling=False)
    # With several jobs, running trials count as bad, so that others search elsewhere.
    return optuna.samplers.TPESampler(seed=own, n_startup_trials=8, constant_liar=spec.jobs != 1)


class _CmaEsSampler(optuna.samplers.CmaEsSampler):
    """CMA-ES whose state is computed from the trials each time.

    Optuna's own sampler pickles its state in the study's file, and unpickling it would execute any
    code that someone has put there.
    """

    _complete: Sequence[FrozenTrial] = ()

    def _restore_optimizer(self, completed_trials: Sequence[FrozenTrial], *_: Any) -> None:
        self._complete = completed_trials

    def _init_optimizer(self, trans: Any, direction: StudyDirection, *rest: Any) -> Any:
        """Return the optimizer after all its complete generations."""
        optimizer = super()._init_optimizer(trans, direction, *rest)
        size = optimizer.population_size
        while True:
            members = self._get_solution_trials([*self._complete], optimizer.generation)[:size]
            if len(members) < size:
                return optimizer
            # It minimises; the study maximises.
            optimizer.tell([(trans.transform(t.params), -float(t.value or 0)) for t in members])


def _require_known_sampler() -> None:
    """Refuse a version of Optuna whose sampler would restore its state by another method."""
    if not hasattr(optuna.samplers.CmaEsSampler, "_restore_optimizer"):
        raise RequestError(
            "sampler cmaes does not work with Optuna {version}.", version=optuna.__version__
        )


def _pruner(spec: SweepSpec) -> optuna.pruners.BasePruner:
    warm_up = int(max(spec.values_of("learning_starts")))
    if spec.pruning == "median":
        return optuna.pruners.MedianPruner(
            n_startup_trials=_MEDIAN_AFTER_TRIALS, n_warmup_steps=warm_up
        )
    if spec.pruning == "asha":
        # The first evaluation of any trial must reach the first rung only.
        interval = int(max(spec.values_of("eval_interval")))
        first = (warm_up // interval + 1) * interval
        return optuna.pruners.SuccessiveHalvingPruner(
            min_resource=first, reduction_factor=_ASHA_KEEPS_ONE_IN
        )
    return optuna.pruners.NopPruner()


@contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
