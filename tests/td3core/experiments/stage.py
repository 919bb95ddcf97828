"""Plays the processes of a group, so that its runner can be tested without them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from td3core.config import RunConfig, make_settings
from td3core.experiments.jobs import Job, NewRun
from td3core.protocol.events import Ended, Event, Failed, Started
from td3core.text import Text
from tests.support import events


def ended(config: RunConfig, stopped: str = "finished") -> Ended:
    return events.ended(
        stopped, env_steps=config.steps, last_eval_return=float(config.seed), best_eval_return=10.0
    )


def failed(text: str, *, request: bool = False) -> Failed:
    return Failed(message=Text(text), details="", request=request)


class Stage:
    """Stands in for every process of a group; does what ``act`` says when one starts."""

    def __init__(self, act: Callable[["Actor"], None]) -> None:
        self.act, self.actors, self.most = act, [], 0
        self.alive: set[int] = set()
        self.waited: list[float] = []

    def __call__(self, job: Job, report: Callable[[Event], None], on_log: Any) -> "Actor":
        actor = Actor(self, job, report)
        self.actors.append(actor)
        self.alive.add(actor.seed)
        self.most = max(self.most, len(self.alive))
        self.act(actor)
        return actor


class Actor:
    def __init__(self, stage: Stage, job: Job, report: Callable[[Event], None]) -> None:
        self.stage, self.job, self.report = stage, job, report
        resumed = make_settings({"env": "E", "steps": 60, "seed": 0})[0]
        self.config = job.config if isinstance(job, NewRun) else resumed
        self.seed = self.config.seed
        self.asked: list[str] = []

    def start(self) -> None:
        settings = make_settings({"env": "E", "steps": 60})
        about: dict[str, Any] = {"device": "cpu", "threads": 1}
        self.report(
            Started(run=Path("r"), config=settings[0], tunables=settings[1], env_steps=0, **about)
        )

    def pause(self) -> None:
        self.asked.append("pause")

    def unpause(self) -> None:
        self.asked.append("unpause")

    def save(self) -> None:
        self.asked.append("save")

    def stop(self) -> None:
        self.asked.append("stop")
        self.report(ended(self.config, "user"))

    def kill(self) -> None:
        self.asked.append("kill")
        self.report(failed("killed"))

    def join(self, timeout_s: float) -> None:
        self.stage.waited.append(timeout_s)
        self.stage.alive.discard(self.seed)


def finish(actor: Actor) -> None:
    actor.start()
    actor.report(ended(actor.config))


def break_the_second(actor: Actor) -> None:
    actor.report(failed("It broke.")) if actor.seed == 1 else finish(actor)
