"""Exports a video of an agent: H.264 in an MP4 file, one frame per step."""

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from td3core.checkpoint import Checkpoint, load
from td3core.config.consent import NO_CONSENT, Consent
from td3core.config.env_choice import EnvChoice
from td3core.envs.make import make_env
from td3core.envs.rendering import DEFAULT_FPS, rgb_frame
from td3core.errors import RequestError, RunError, reason_of
from td3core.evaluation.evaluate import collect_result
from td3core.evaluation.result import EvaluationResult
from td3core.evaluation.rollout import RolloutStep, rollout
from td3core.inference.policy import Policy
from td3core.randomness import Purpose, episode_seed


def export(checkpoint: Path, target: Path, consent: Consent = NO_CONSENT) -> None:
    """Record the first evaluation episode of seed 0; see :func:`record`."""
    record(load(checkpoint), target, episodes=1, seed=0, consent=consent)


def record(
    source: Checkpoint,
    target: Path,
    *,
    episodes: int,
    seed: int,
    consent: Consent = NO_CONSENT,
) -> EvaluationResult:
    """Record noise-free episodes and return their results.

    The episodes are those of an evaluation with the same seed. One frame is rendered after each
    step.

    Raises:
        RequestError: the environment cannot render images, or the file cannot be written.
        RunError: the environment raised an ``OSError``.
    """
    # An unfinished video must not look like a finished one.
    half = target.with_name(f".{target.name}.part")
    try:
        with av.open(str(half), "w", format="mp4") as container:
            choice = source.header.config.choice.with_consent(consent)
            last_steps = _record_episodes(container, source, choice, episodes, seed)
        half.replace(target)
    except OSError as problem:
        raise RequestError(
            "{path} cannot be written: {reason}.", path=str(target), reason=problem.strerror
        ) from problem
    finally:
        half.unlink(missing_ok=True)
    return collect_result(last_steps, seed)


def _record_episodes(
    container: av.container.OutputContainer,
    source: Checkpoint,
    choice: EnvChoice,
    episodes: int,
    seed: int,
) -> list[RolloutStep]:
    """Record episodes into an open file; return the last step of each."""
    policy = source.policy()
    last_steps: list[RolloutStep] = []
    stream: av.VideoStream | None = None
    for index in range(episodes):
        reset_seed = episode_seed(seed, Purpose.EVALUATION, index)
        for step, frame, fps in _frames(choice, policy, reset_seed):
            stream = stream or _stream(container, frame, fps)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, "rgb24")))
            if step.over:
                last_steps.append(step)
    if stream is not None:
        container.mux(stream.encode())
    return last_steps


def _frames(
    choice: EnvChoice, policy: Policy, reset_seed: int
) -> Iterator[tuple[RolloutStep, NDArray[np.uint8], object]]:
    """Yield the steps of an episode, each with its frame and the environment's frame rate.

    Raises:
        RunError: the environment raised an ``OSError``, which is none of the video's file.
    """
    try:
        env = make_env(choice, render=True)
        try:
            for step in rollout(env, policy, reset_seed):
                frame = even_sized(rgb_frame(env.render(), choice.env_id))
                yield step, frame, env.metadata.get("render_fps")
        finally:
            env.close()
    except OSError as problem:
        raise RunError(
            "The environment {env_id} raised {error}: {reason}.",
            env_id=choice.env_id,
            error=type(problem).__name__,
            reason=reason_of(problem).rstrip("."),
        ) from problem


def even_sized(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Crop a frame (height, width, 3) to even sizes: H.264 stores colour at half resolution."""
    height, width = frame.shape[0] & ~1, frame.shape[1] & ~1
    return np.ascontiguousarray(frame[:height, :width])


def _stream(
    container: av.container.OutputContainer, frame: NDArray[np.uint8], fps: object
) -> av.VideoStream:
    rate = int(fps) if isinstance(fps, (int, float)) and fps >= 1 else DEFAULT_FPS
    stream = container.add_stream("libx264", rate=rate)
    stream.height, stream.width = frame.shape[:2]
    stream.pix_fmt = "yuv420p"
    stream.options = {"crf": "20", "preset": "fast"}
    return stream
