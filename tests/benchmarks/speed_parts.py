"""The measurements of ``speed.py``, each made to run alone in a fresh process."""

import itertools
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

OBS, ACT, BATCH, WIDTH = 24, 4, 256, 256
LEARNING_STARTS = 300
TASK: dict[str, Any] = {
    "learning_starts": LEARNING_STARTS,
    "batch_size": BATCH,
    "actor_hidden": (WIDTH, WIDTH),
    "critic_hidden": (WIDTH, WIDTH),
    "threads": 1,
    "eval_interval": 0,
    "checkpoint_interval": 0,
}


def peak_mb() -> float:
    """Return the largest resident size this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def resident_mb() -> float:
    """Return the resident size of this process."""
    import psutil

    return float(psutil.Process().memory_info().rss) / 2**20


def rate(work: Callable[[], object], repeats: int = 60, rounds: int = 7) -> float:
    """Return how often a second ``work`` is done: the median over rounds, warmed up."""
    for _ in range(20):
        work()
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(repeats):
            work()
        found.append(repeats / (time.perf_counter() - began))
    return statistics.median(found)


SMALL: dict[str, Any] = {"batch_size": 100, "actor_hidden": (64, 64), "critic_hidden": (64, 64)}
"""Networks so small that calls cost more than arithmetic."""


def our_agent(
    fill: int = 50_000, *, compiled: bool = True, **values: Any
) -> tuple[Any, Any, Callable[[], None]]:
    """Return an agent, a memory with that many transitions, and one sample and update."""
    import torch
    from threadpoolctl import threadpool_limits

    from td3core.algorithm import matmul
    from td3core.algorithm.fused import kernel_cache
    from td3core.algorithm.td3 import TD3
    from td3core.buffer.replay_buffer import ReplayBuffer
    from td3core.buffer.sampler import Sampler
    from td3core.config import make_settings

    torch.set_num_threads(values.get("threads", 1))
    matmul.choose()
    engine = "compiled" if compiled else "torch"
    config, tunables = make_settings({"env": "none", "engine": engine, **TASK, **values})
    kernel_cache.provide()
    agent, memory = TD3(config, tunables, OBS, ACT), ReplayBuffer(1_000_000, OBS, ACT)
    threadpool_limits(1, user_api="blas")
    source = np.random.default_rng(0)
    more(memory, fill, source)
    sampler = Sampler(memory, source)

    def work() -> None:
        for draws in sampler.draw(1, tunables):
            agent.update_from(draws)
        if agent.updates % 50 == 0:
            agent.take_metrics()

    return agent, memory, work


def more(memory: Any, count: int, source: np.random.Generator) -> None:
    """Add transitions drawn at random."""
    for begin in range(0, count, 10_000):
        size = min(10_000, count - begin)
        draw = source.standard_normal((size, 2 * OBS + ACT), np.float32)
        for row in draw:
            memory.add(row[:OBS], row[OBS : OBS + ACT], 0.5, row[OBS + ACT :], False)


def our_updates(compiled: bool, small: bool = False, threads: int = 1) -> dict[str, float]:
    """Sample and update, ours: compiled or by torch."""
    values = {"threads": threads, **(SMALL if small else {})}
    return {"per_s": rate(our_agent(compiled=compiled, **values)[2])}


def long_updates(count: int = 40_000) -> dict[str, float]:
    """Sample and update, ours, small: the rate of the first and last quarter of so many updates.

    Units die meanwhile, and their moments decay to subnormal numbers.
    """
    work, rates = our_agent(**SMALL)[2], []
    for _ in range(4):
        began = time.perf_counter()
        for _ in range(count // 4):
            work()
        rates.append(count / 4 / (time.perf_counter() - began))
    return {"first_per_s": rates[0], "last_per_s": rates[-1]}


def against_published(width: int, batch: int) -> dict[str, float]:
    """Milliseconds of one sample and update: torch's, the compiled one, and as published.

    All take turns in one process: other work on the machine meets each of them.
    """
    from tests.benchmarks.published_td3 import PublishedTD3

    values = {"batch_size": batch, "actor_hidden": (width, width), "critic_hidden": (width, width)}
    published = PublishedTD3(OBS, ACT, width, 50_000)
    works: dict[str, Callable[[], object]] = {
        "torch": our_agent(compiled=False, **values)[2],
        "compiled": our_agent(**values)[2],
        "published": lambda: published.train(batch),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(120):
        for name, work in works.items():
            began = time.perf_counter()
            for _ in range(10):
                work()
            if turn >= 20:
                times[name].append(100 * (time.perf_counter() - began))
    found = {name: statistics.median(each) for name, each in times.items()}
    for name in ("torch", "compiled"):
        pairs = zip(times["published"], times[name], strict=True)
        found[f"{name} ratio"] = statistics.median(theirs / ours for theirs, ours in pairs)
    return found


def peer_updates(threads: int = 1) -> dict[str, float]:
    """Sample and update, stable-baselines3."""
    import torch
    from gymnasium.spaces import Box
    from stable_baselines3.common.logger import configure

    torch.set_num_threads(threads)
    model = peer_model("BipedalWalker-v3", 50_000)
    model.set_logger(configure(None, []))
    source = np.random.default_rng(0)
    assert isinstance(model.observation_space, Box)
    for _ in range(50_000):
        row = source.standard_normal((2, 1, OBS), np.float32)
        action = source.standard_normal((1, ACT), np.float32)
        done = np.zeros(1)
        model.replay_buffer.add(row[0], row[1], action, done, done, [{}])
    return {"per_s": rate(lambda: model.train(gradient_steps=1, batch_size=BATCH))}


class BareProducts:
    """Nothing but the matrix products that an update of TD3 cannot do without."""

    def __init__(self) -> None:
        self.critics, self.q1 = layers(2, OBS + ACT, 1), layers(1, OBS + ACT, 1)
        self.actor = layers(1, OBS, ACT)
        self.critic_gradient = [weight.clone() for _, weight, _ in self.critics]
        self.actor_gradient = [weight.clone() for _, weight, _ in self.actor]
        self.action_weight, self.action_slope = matrix(1, WIDTH, ACT), matrix(1, BATCH, ACT)

    def critic_step(self) -> None:
        for net in (self.actor, self.critics, self.critics):  # π'(s'), Q'(s', ã), Q(s, a)
            forward(net)
        gradient(self.critics, self.critic_gradient)
        down(self.critics)

    def actor_step(self) -> None:
        for net in (self.actor, self.q1):  # π(s), Q1(s, π(s))
            forward(net)
        down(self.q1)
        multiply(self.q1[0][2], self.action_weight, self.action_slope)
        gradient(self.actor, self.actor_gradient)
        down(self.actor)

    def two_updates(self) -> None:
        """The policy delay is two: one of them moves the actor."""
        self.critic_step()
        self.critic_step()
        self.actor_step()


def matrix(*shape: int) -> Any:
    """Return random numbers."""
    import torch

    return torch.randn(shape)


def multiply(a: Any, b: Any, out: Any) -> None:
    """Multiply a stack of matrices."""
    import torch

    torch.bmm(a, b, out=out)


def layers(members: int, inputs: int, outputs: int) -> list[tuple[Any, Any, Any]]:
    """Return inputs, weights and outputs of each layer of stacked perceptrons."""
    widths = (inputs, WIDTH, WIDTH, outputs)
    return [
        (matrix(members, BATCH, n), matrix(members, m, n), matrix(members, BATCH, m))
        for n, m in itertools.pairwise(widths)
    ]


def forward(net: list[tuple[Any, Any, Any]]) -> None:
    """Multiply the inputs of each layer by its weights."""
    for x, weight, out in net:
        multiply(x, weight.mT, out)


def gradient(net: list[tuple[Any, Any, Any]], into: list[Any]) -> None:
    """Multiply slopes by inputs, for the gradient of each weight."""
    for (x, _, out), weight in zip(net, into, strict=True):
        multiply(out.mT, x, weight)


def down(net: list[tuple[Any, Any, Any]]) -> None:
    """Multiply slopes by weights, from the last layer to the first."""
    for x, weight, out in net[1:]:
        multiply(out, weight, x)


def bound() -> dict[str, float]:
    """Updates a second if there were nothing but matrix products."""
    import torch

    from td3core.algorithm import matmul

    torch.set_num_threads(1)
    matmul.choose()
    return {"per_s": 2 * rate(BareProducts().two_updates, repeats=30)}


def bound_by_scipy() -> dict[str, float]:
    """As :func:`bound`, with SciPy's BLAS, which the compiled update calls."""
    from td3core.algorithm.fused import kernel_cache

    kernel_cache.provide()
    from numba import njit
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")
    source = np.random.default_rng(0)
    a, b = (source.standard_normal((BATCH, WIDTH)).astype(np.float32) for _ in range(2))
    out = np.empty_like(a)
    many = njit(nogil=True)(_multiply_often)
    many(a, b, out, 1)
    # Products of this size make up all but a few percent of an update: 0.418 GFLOP.
    return {"per_s": 20 * 2 * BATCH * WIDTH**2 / 0.418e9 * rate(lambda: many(a, b, out, 20))}


def _multiply_often(a: Any, b: Any, out: Any, times: int) -> None:
    for _ in range(times):
        np.dot(a, b, out)


def share_of_products(width: int, batch: int) -> dict[str, Any]:
    """What share of an update's time its matrix products alone would take, and by which kernels.

    Updates and as many operations in products of (batch, width) with (width, width) take turns of a
    few milliseconds in one process: other work on the machine slows both, and the median of the
    ratios stays what it is.
    """
    hidden = (width, width)
    _, _, work = our_agent(batch_size=batch, actor_hidden=hidden, critic_hidden=hidden)
    from numba import njit
    from threadpoolctl import threadpool_info

    source = np.random.default_rng(0)
    a, b = (source.standard_normal((n, width)).astype(np.float32) for n in (batch, width))
    out, many = np.empty_like(a), njit(nogil=True)(_multiply_often)
    wanted, each = operations(width, batch), 2 * batch * width**2
    # Two updates: one of them moves the actor.
    turns = max(1, round(2e8 / wanted))
    count = round(2 * turns * wanted / each)
    many(a, b, out, 1)
    shares = []
    for _ in range(200):
        began = time.thread_time()
        for _ in range(2 * turns):
            work()
        updated = time.thread_time()
        many(a, b, out, count)
        alone = (time.thread_time() - updated) * 2 * turns * wanted / (count * each)
        shares.append(alone / (updated - began))
    kernels = {x["architecture"] for x in threadpool_info() if x["internal_api"] == "openblas"}
    return {"share": statistics.median(shares), "kernels": ", ".join(sorted(kernels))}


def operations(width: int, batch: int) -> float:
    """Return the floating-point operations in the matrix products of an update, on average."""
    critic = [(OBS + ACT) * width, width**2, width]
    actor = [OBS * width, width**2, width * ACT]
    # π'(s'); Q'(s', ã), Q(s, a), ∂L/∂θ and the gradients below the layers, of two critics.
    always = sum(actor) + 6 * sum(critic) + 2 * sum(critic[1:])
    # π(s), Q1(s, π(s)), ∂Q1/∂a, and the actor's gradients: with every second update.
    sometimes = 2 * sum(actor) + sum(actor[1:]) + sum(critic) + sum(critic[1:]) + width * ACT
    return 2.0 * batch * (always + sometimes / 2)


def on_cores(count: int, measure: Callable[..., Any], *arguments: Any) -> Any:
    """Measure on so many cores; only Linux can."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    return measure(*arguments)


def our_steps(env: str, count: int, small: bool = False, threads: int = 1) -> dict[str, float]:
    """Environment steps a second, learning, ours."""
    from td3core.config import make_settings
    from td3core.protocol.control import Control
    from td3core.protocol.events import Ended
    from td3core.training.launch import train

    values = {"env": env, "steps": LEARNING_STARTS + count, **TASK, **(SMALL if small else {})}
    values["threads"] = threads
    with tempfile.TemporaryDirectory() as folder:
        ended = train(*make_settings(values), Control(), lambda event: None, Path(folder))
    assert isinstance(ended, Ended), ended
    assert ended.steps_per_s
    return {"per_s": ended.steps_per_s, "peak_mb": peak_mb()}


def preset_steps(env: str, warm_up: int, seconds: float) -> dict[str, float]:
    """Environment steps a second with the preset and its evaluations, without a window."""
    from td3core.config.presets import compose
    from td3core.protocol.control import Control
    from td3core.protocol.events import Ended, Phase, Progress
    from td3core.training.launch import train

    control = Control()

    def report(event: object) -> None:
        if isinstance(event, Progress) and event.phase is not Phase.WARM_UP and not began:
            began.append(time.perf_counter())
        if began and time.perf_counter() - began[0] > seconds:
            control.stop()

    began: list[float] = []
    settings = compose(env, [], {"learning_starts": warm_up, "threads": 1})
    with tempfile.TemporaryDirectory() as folder:
        ended = train(*settings, control, report, Path(folder))
    assert isinstance(ended, Ended), ended
    assert ended.steps_per_s
    return {"steps_per_s": ended.steps_per_s}


def peer_model(env: str, buffer_size: int, small: bool = False) -> Any:
    """Return stable-baselines3's TD3 with our settings."""
    import gymnasium as gym
    from stable_baselines3 import TD3
    from stable_baselines3.common.noise import NormalActionNoise

    made = gym.make(env)
    shape = made.action_space.shape
    assert shape is not None
    return TD3(
        "MlpPolicy",
        made,
        learning_rate=3e-4,
        buffer_size=buffer_size,
        learning_starts=LEARNING_STARTS,
        batch_size=SMALL["batch_size"] if small else BATCH,
        train_freq=(1, "step"),
        gradient_steps=1,
        action_noise=NormalActionNoise(np.zeros(shape), 0.1 * np.ones(shape)),
        policy_kwargs={"net_arch": list(SMALL["actor_hidden"]) if small else [WIDTH, WIDTH]},
        device="cpu",
        seed=0,
    )


def peer_steps(env: str, count: int, small: bool = False, threads: int = 1) -> dict[str, float]:
    """Environment steps a second, learning, stable-baselines3."""
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(threads)
    began = [0.0]

    class Watch(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps == LEARNING_STARTS:
                began[0] = time.perf_counter()
            return True

    model = peer_model(env, 1_000_000, small)
    model.learn(LEARNING_STARTS + count, callback=Watch())
    return {"per_s": count / (time.perf_counter() - began[0]), "peak_mb": peak_mb()}


def cost_by_fill() -> dict[int, dict[str, float]]:
    """Milliseconds of one sample and update, and resident memory, as the replay buffer fills."""
    os.environ["OMP_NUM_THREADS"] = "1"
    before = resident_mb()
    _, memory, work = our_agent(fill=0)
    rate_of_nothing = resident_mb()
    found = {}
    source = np.random.default_rng(1)
    for fill in (10_000, 100_000, 1_000_000):
        more(memory, fill - memory.size, source)
        resident = resident_mb() - rate_of_nothing
        found[fill] = {"ms": 1000 / rate(work), "resident_mb": resident}
    assert rate_of_nothing >= before
    return found
