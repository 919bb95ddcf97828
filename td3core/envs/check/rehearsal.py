"""Tries untrusted environments in a separate process first, which can be killed."""

import contextlib
import faulthandler
import os
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from td3core.config import EnvChoice
from td3core.envs import trust
from td3core.envs.check.probe import STEPS, run_probe
from td3core.envs.make import is_usable, note_usable, require_notation
from td3core.errors import RequestError, StoppedError
from td3core.system.json_lines import Codec
from td3core.system.message_process import MessageProcess, ParentLink
from td3core.system.signals import ignore_terminal
from td3core.text import Text, Value

LIMIT_S = 60.0
"""In seconds: simulators take one or two to start, large robot models a few more."""
_STEPS_S = 1.0
"""After this time no further step is taken."""
_LOOK_S = 0.1
_END_S = 1.0


@dataclass(frozen=True, slots=True)
class _Task:
    choices: tuple[EnvChoice, ...]
    limit_s: float


@dataclass(frozen=True, slots=True)
class _Tried:
    """The answer to each choice, whether it can be made or not."""


_CODEC = Codec(_Task, _Tried)


def rehearse(
    choices: Sequence[EnvChoice],
    *,
    announce: Callable[[Text], None] = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
    limit_s: float = LIMIT_S,
) -> None:
    """Make and step each environment in another process, within a time limit.

    The code or the arguments of an environment may make it run forever, where Ctrl-C has no effect:
    call this before making one, whether a file or the user named it. Skipped are Gymnasium's own
    environments without arguments, those tried before for this process, code that is not allowed,
    and invalid names. An environment that cannot be made is no error here: making it reports why.

    Args:
        choices: the environments.
        announce: called with a sentence before each.
        stopped: polled; True ends the wait.
        limit_s: time limit for each environment.

    Raises:
        RequestError: an environment took too long, or ended the process.
        StoppedError: ``stopped`` returned True.
    """
    doubtful = [choice for choice in choices if _needs_rehearsal(choice)]
    if not doubtful:
        return
    for choice in doubtful:
        # Here, so that the child searches the same folders as this process.
        trust.prepare_import(choice.env_id)
    answers: queue.SimpleQueue[_Tried | None] = queue.SimpleQueue()
    child = MessageProcess(__name__, _CODEC, answers.put, lambda _: answers.put(None))
    try:
        child.send(_Task(tuple(doubtful), limit_s))
        for choice in doubtful:
            announce(Text("Trying {env_id} in a process of its own", env_id=choice.env_id))
            _await_answer(answers, choice, stopped, limit_s)
            note_usable(choice)
    finally:
        # Also after a Ctrl-C.
        child.kill()
        child.join(_END_S)


def _needs_rehearsal(choice: EnvChoice) -> bool:
    try:
        require_notation(choice.env_id)
    except RequestError:
        return False
    return trust.can_hang(choice) and not is_usable(choice) and not trust.unconsented(choice)


def _await_answer(
    answers: "queue.SimpleQueue[_Tried | None]",
    choice: EnvChoice,
    stopped: Callable[[], bool],
    limit_s: float,
) -> None:
    end = time.monotonic() + limit_s
    while True:
        if stopped():
            raise StoppedError
        try:
            answer = answers.get(timeout=_LOOK_S)
        except queue.Empty:
            if time.monotonic() < end:
                continue
            raise RequestError(
                "{env_id} could not be made within {seconds:.0f} s{args}.",
                seconds=limit_s,
                **_named(choice),
            ) from None
        if answer is None:
            raise RequestError(
                "The process ended unexpectedly while making {env_id}{args}.", **_named(choice)
            )
        return


def _named(choice: EnvChoice) -> dict[str, Value]:
    given = Text(" with env_args {args}", args=choice.args) if choice.args else ""
    return {"env_id": choice.env_id, "args": given}


def main() -> None:
    """Make and step each environment that the parent sends, and answer."""
    link = ParentLink(_CODEC)
    ignore_terminal()
    try:
        task: _Task = link.receive()
    except EOFError:
        return
    link.listen(lambda _: None, lambda: os._exit(1))
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        for choice in task.choices:
            # A simulator may block the thread that listens to the parent.
            faulthandler.dump_traceback_later(2 * task.limit_s, exit=True, file=nothing)
            with contextlib.suppress(Exception):
                # As many steps as the check before training takes, but one is enough: arguments
                # may make a simulator take billions in one call.
                run_probe(choice, STEPS, least=1, limit_s=_STEPS_S)
            link.send(_Tried())
