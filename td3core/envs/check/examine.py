"""Checks an environment before an agent is trained on it, and reports what is unusual."""

import difflib

import numpy as np

from td3core.config import RunConfig
from td3core.config.env_choice import EnvChoice
from td3core.config.info_columns import PREFIX, parse_names
from td3core.envs.catalogue import find_known
from td3core.envs.check import checks
from td3core.envs.check.probe import STEPS, ProbeError, run_probe
from td3core.envs.check.report import CheckReport, Finding, Level
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env
from td3core.errors import RequestError
from td3core.text import SettingName, Text

_END_STEPS = 2_000
_QUICK_END_STEPS = 1_000
"""Random steps within which an episode should end, thorough and quick."""


def examine(choice: EnvChoice, *, thorough: bool = True) -> CheckReport:
    """Check an environment; ``thorough`` adds Gymnasium's own check and more steps for an end.

    Raises:
        RequestError: the environment cannot be made or does not suit TD3.
    """
    info = check_env(choice)
    findings = [checks.check_actions(info), checks.check_size(info)]
    numbers = list[str]()
    steps = None
    try:
        probe = run_probe(choice, STEPS)
        numbers += (name for name, usable in probe.info.items() if usable)
        shapes = checks.check_shapes(probe)
        findings.append(shapes)
        if shapes.level is not Level.ERROR:
            findings.append(checks.check_values(probe))
        findings.append(checks.check_rewards(np.array(probe.rewards)))
        findings.append(checks.check_repeatable(choice, probe))
        if findings[-1].level is Level.OK:
            steps = probe
        end_steps = _END_STEPS if thorough else _QUICK_END_STEPS
        findings.append(checks.check_ends(choice, info, probe, end_steps))
    except ProbeError as problem:
        findings.append(Finding(Level.ERROR, checks.STEPPING, problem.message))
    if numbers:
        findings.append(checks.name_info(numbers))
    if thorough:
        findings += checks.check_with_gymnasium(choice)
    return CheckReport(info, tuple(findings), tuple(numbers), steps)


def check_before_training(config: RunConfig, info: EnvInfo) -> CheckReport | None:
    """Check a run's environment briefly, unless it is a known one without arguments.

    Returns:
        What was found, which does not prevent training; None if it was not checked.

    Raises:
        RequestError: with the first error found; nothing has been written yet.
    """
    if not config.env_check or (find_known(info.env_id) and not info.args):
        return None
    report = examine(info.choice, thorough=False)
    for finding in report.findings:
        if finding.level is Level.ERROR:
            raise RequestError(
                "{env_id} cannot be trained on: {problem}",
                env_id=info.env_id,
                problem=finding.message,
            )
    return report


def check_info_columns(config: RunConfig, info: EnvInfo) -> list[Text]:
    """Check that an environment's info has the numbers that a run will record.

    Returns:
        Warnings: names that random steps did not return may still appear, such as a success.

    Raises:
        RequestError: a value is no finite number, or a missing name is similar to one that is
            returned.
    """
    names, env_id = parse_names(config.info_columns), info.env_id
    if not names:
        return []
    try:
        found = run_probe(info.choice, STEPS).info
    except ProbeError:
        # The run will report at which step it fails.
        return []
    warnings = []
    for name in names:
        near = difflib.get_close_matches(name, set(found) - set(names), n=1, cutoff=0.8)
        if name not in found and near:
            raise RequestError(
                "{key} cannot contain {name}: the info of {env_id} has no such number. Did"
                " you mean {suggestion}?",
                key=SettingName("info_columns"),
                name=name,
                env_id=env_id,
                suggestion=near[0],
            )
        if not found.get(name, True):
            raise RequestError(
                "{key} cannot contain {name}: in the info of {env_id} it is no finite number.",
                key=SettingName("info_columns"),
                name=name,
                env_id=env_id,
            )
        if name not in found:
            warnings.append(
                Text(
                    "The info of {env_id} had no {name} in {count} random steps; {column} is empty"
                    " for episodes without it.",
                    env_id=env_id,
                    name=name,
                    count=STEPS,
                    column=PREFIX + name,
                )
            )
    return warnings
