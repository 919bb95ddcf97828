"""Asks on the terminal before running code that a file names."""

import sys

from td3core.cli.terminal import log, printable
from td3core.config.env_choice import EnvChoice
from td3core.errors import RequestError
from td3core.system import allowed_code
from td3core.system.allowed_code import LocatedModule
from td3core.text import Text, tr


def allow_typed(choice: EnvChoice) -> None:
    """Allow the code that the user named on the command line; from now on files may name it.

    Otherwise opening a run of the user's own environment would ask for consent.
    """
    from td3core.envs import trust

    _remember(trust.needed(trust.with_user_consent(choice)))


def obtain_consent(*choices: EnvChoice, given: bool) -> None:
    """Obtain consent to the code of environments named by a file, then rehearse them.

    Args:
        choices: environments named by the file.
        given: ``--trust-env``: ask nothing, and remember nothing.

    Raises:
        RequestError: the user did not agree, or there is no terminal to ask on; or an environment
            cannot be made in reasonable time.
    """
    from td3core.envs import trust_store

    allowed_code.allow(trust_store.remembered())
    for choice in choices:
        _obtain(choice, given=given)
    rehearse_all(*choices)


def _obtain(choice: EnvChoice, *, given: bool) -> None:
    from td3core.envs import trust

    missing = trust.unconsented(choice)
    for module in () if given else missing:
        if not is_interactive():
            raise RequestError(
                "{env_id} is named by a file and would run the code in {path};"
                " --trust-env allows that.",
                env_id=choice.env_id,
                path=module.path,
            )
        if not _agrees(choice, module):
            raise RequestError("The code in {path} was not run.", path=module.path)
        _remember([module])
    allowed_code.allow(module.entry for module in missing)


def rehearse_all(*choices: EnvChoice) -> None:
    """First make environments in a separate process, which Ctrl-C ends immediately.

    Raises:
        RequestError: one takes too long, or ends the process.
    """
    from td3core.envs import trust

    doubtful = [choice for choice in choices if trust.can_hang(choice)]
    if doubtful:
        # Imported here: it loads Gymnasium.
        from td3core.envs.check.rehearsal import rehearse

        rehearse(doubtful)


def is_interactive() -> bool:
    """Return whether a question would be seen and could be answered."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _agrees(choice: EnvChoice, module: LocatedModule) -> bool:
    log(Text("The environment {env_id} is named by a file. It is code:", env_id=choice.env_id))
    log(Text("  module {module} in {path}", module=module.name, path=module.path))
    # The answers are y and yes in every language.
    question = tr("Run this code? Only if you know where it comes from. [y/N]")
    sys.stderr.write(f"{printable(question)} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remember(modules: list[LocatedModule]) -> None:
    from td3core.envs import trust_store

    try:
        trust_store.remember(*modules)
    except RequestError as problem:
        # The consent still applies to this command.
        log(problem.message)
