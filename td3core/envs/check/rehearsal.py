"""Makes environments that a file names in a process of its own first, which can be ended."""

import time
from collections.abc import Sequence
from multiprocessing.connection import Connection

from td3core.config import EnvChoice
from td3core.envs.check.trial import run_trial
from td3core.errors import RequestError, reason_of
from td3core.system.child_process import ChildProcess

LIMIT_S = 60.0
"""Simulators take a second or two, large models of robots a few more."""
_LOOK_S = 0.1


def rehearse(choices: Sequence[EnvChoice], limit_s: float = LIMIT_S) -> None:
    """Make each environment in another process, take a step there, and wait at most so long.

    The arguments of a simulator may keep its library busy for ever, where no Ctrl-C reaches it. An
    environment that cannot be made is no fault here: whoever makes it says why.

    Raises:
        RequestError: that took too long, or ended the process.
    """
    if not choices:
        return
    child, end = ChildProcess("rehearsal", _make_all, tuple(choices)), time.monotonic() + limit_s
    try:
        for choice in choices:
            while not child.pipe.poll(_LOOK_S):
                if time.monotonic() > end:
                    raise RequestError(
                        "{env_id} could not be made within {seconds:.0f} s with env_args {args}.",
                        env_id=choice.env_id,
                        seconds=limit_s,
                        args=choice.args,
                    )
            try:
                child.pipe.recv()
            except (EOFError, OSError):
                raise RequestError(
                    "Making {env_id} with env_args {args} ended its process.",
                    env_id=choice.env_id,
                    args=choice.args,
                ) from None
    finally:
        # Also after Ctrl-C.
        child.stop(kill=True)


def _make_all(pipe: Connection, choices: Sequence[EnvChoice]) -> None:
    for choice in choices:
        try:
            # With a step: a simulator may be told to take billions at once.
            run_trial(choice, 1)
        except Exception as problem:
            pipe.send(reason_of(problem))
        else:
            pipe.send("")
