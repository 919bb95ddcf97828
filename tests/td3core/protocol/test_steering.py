"""Requests to a run: made by name, carried as values, and made again at the other end."""

from collections.abc import Callable

import pytest

from td3core.config import Tunables
from td3core.experiments.jobs import CODEC
from td3core.protocol.steering import Ask, Request, Requesting, Steering, Tune, Verb, steer

REQUESTS: list[tuple[Callable[[Steering], int], Request]] = [
    (lambda run: run.tune(Tunables(tau=0.3)), Tune(Tunables(tau=0.3))),
    (
        lambda run: run.tune(Tunables(tau=0.3), Tunables(gamma=0.5)),
        Tune(Tunables(tau=0.3), Tunables(gamma=0.5)),
    ),
    (lambda run: run.pause(), Ask(Verb.PAUSE)),
    (lambda run: run.unpause(), Ask(Verb.UNPAUSE)),
    (lambda run: run.save(), Ask(Verb.SAVE)),
    (lambda run: run.stop(), Ask(Verb.STOP)),
    (lambda run: run.step(), Ask(Verb.STEP)),
    (lambda run: run.trace(True), Ask(Verb.TRACE)),
    (lambda run: run.trace(False), Ask(Verb.UNTRACE)),
]


class Remembering(Requesting):
    def __init__(self) -> None:
        self.made: list[Request] = []

    def request(self, request: Request) -> int:
        self.made.append(request)
        return len(self.made)


@pytest.mark.parametrize(("ask", "request_"), REQUESTS)
def test_a_request_arrives_as_it_was_made(
    ask: Callable[[Steering], int], request_: Request
) -> None:
    near, far = Remembering(), Remembering()
    assert ask(near) == 1
    steer(far, near.made[0])
    assert near.made == far.made == [request_]
    assert CODEC.decode(CODEC.encode(request_)) == request_


@pytest.mark.parametrize("verb", [Verb.DETACH, Verb.RESUME, Verb.KILL])
def test_what_is_asked_of_a_process_is_no_request_to_its_run(verb: Verb) -> None:
    with pytest.raises(ValueError, match="a run cannot"):
        steer(Remembering(), Ask(verb))


def test_whoever_steers_must_say_how_a_request_is_handed_on() -> None:
    with pytest.raises(NotImplementedError):
        Requesting().pause()
