"""Films of an agent: one frame after each step, written as H.264 in an MP4 file."""

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from td3core.checkpoint import Checkpoint
from td3core.envs import make_env
from td3core.errors import RequestError
from td3core.evaluate import Evaluation, evaluation_of
from td3core.policy import Moment, rollout
from td3core.randomness import Purpose, episode_seed

DEFAULT_FPS = 30


def record(source: Checkpoint, target: Path, *, episodes: int, seed: int) -> Evaluation:
    """Film noise-free episodes and return what they earned.

    The film has exactly one frame for each step. Episodes and seeds are those of an evaluation
    with the same seed, so a film shows the very episodes that were measured.

    Raises:
        RequestError: the environment cannot draw itself, or the file cannot be written.
    """
    env_id = source.header.config.env
    played: list[Moment] = []
    try:
        with av.open(str(target), "w", format="mp4") as container:
            stream = None
            for index in range(episodes):
                env = make_env(env_id, render=True)
                try:
                    reset_seed = episode_seed(seed, Purpose.EVALUATION, index)
                    for moment in rollout(env, source.policy(), reset_seed):
                        frame = even_sized(frame_of(env.render(), env_id))
                        if stream is None:
                            stream = _stream(container, frame, env.metadata.get("render_fps"))
                        container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, "rgb24")))
                        if moment.over:
                            played.append(moment)
                finally:
                    env.close()
            if stream is not None:
                container.mux(stream.encode())
    except OSError as problem:
        raise RequestError(f"{target} cannot be written: {problem.strerror}.") from problem
    return evaluation_of(played, seed)


def frame_of(rendered: object, env_id: str) -> NDArray[np.uint8]:
    """Return the picture (height, width, 3) that an environment drew.

    Raises:
        RequestError: it drew none.
    """
    if not isinstance(rendered, np.ndarray) or rendered.ndim != 3 or rendered.shape[2] != 3:
        raise RequestError(f"{env_id} cannot draw itself as a picture (render mode rgb_array).")
    return np.ascontiguousarray(rendered, dtype=np.uint8)


def even_sized(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Cut an odd last row or column: H.264 stores colour at half resolution."""
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
