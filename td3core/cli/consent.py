"""Asks on the terminal before code that a file names is run."""

import sys

from td3core.cli.terminal import log, printable
from td3core.config.consent import NO_CONSENT, Consent, LocatedModule
from td3core.config.env_choice import EnvChoice
from td3core.errors import RequestError


def with_typed_consent(choice: EnvChoice) -> EnvChoice:
    """Return what the user typed, with consent to its code; files may name that code from now on.

    A run of one's own environment would otherwise be opened with a question.
    """
    from td3core.envs import trust

    choice = choice.with_consent(Consent())
    modules = trust.needed(choice)
    _remember(modules)
    return choice.with_consent(choice.consent.adding(modules))


def obtain_consent(*choices: EnvChoice, given: bool) -> Consent:
    """Return consent to the code of environments that a file names; try each in another process.

    Args:
        choices: what the file names, with the consent there is already.
        given: ``--trust-env``: no question, and nothing to remember.

    Raises:
        RequestError: the user did not agree, or there is no terminal to ask on; or an environment
            cannot be made in a sensible time.
    """
    consent = NO_CONSENT
    for choice in choices:
        consent |= _consent_to(choice.with_consent(choice.consent | consent), given=given)
    rehearse_all(*(choice.with_consent(consent) for choice in choices))
    return consent


def _consent_to(choice: EnvChoice, *, given: bool) -> Consent:
    from td3core.envs import trust, trust_store

    choice = choice.with_consent(choice.consent | trust_store.remembered())
    missing = trust.unconsented(choice)
    for module in missing:
        if given:
            continue
        if not _is_interactive():
            raise RequestError(
                "{env_id} is named by a file and would run the code in {path};"
                " --trust-env allows that.",
                env_id=choice.env_id,
                path=module.path,
            )
        if not _agrees(choice, module):
            raise RequestError("The code in {path} was not run.", path=module.path)
        _remember([module])
    return choice.consent.adding(missing)


def rehearse_all(*choices: EnvChoice) -> None:
    """Make environments in a process of its own first, which Ctrl-C ends at once.

    Raises:
        RequestError: one takes too long, or ends the process.
    """
    from td3core.envs import trust

    strange = [choice for choice in choices if choice.kwargs or trust.names_code(choice)]
    if strange:
        # It loads Gymnasium.
        from td3core.envs.check.rehearsal import rehearse

        rehearse(strange)


def _is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _agrees(choice: EnvChoice, module: LocatedModule) -> bool:
    log(f"The environment {choice.env_id} is named by a file. It is code:")
    log(f"  module {module.name} in {module.path}")
    sys.stderr.write(printable("Run this code? Only if you know where it comes from. [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remember(modules: list[LocatedModule]) -> None:
    from td3core.envs import trust_store

    try:
        trust_store.remember(*modules)
    except RequestError as problem:
        # It holds for this command all the same.
        log(str(problem))
