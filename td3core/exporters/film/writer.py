"""Encodes films with PyAV, frame by frame: MP4 (H.264, else MPEG-4), GIF or animated WebP."""

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from td3core.errors import RequestError, unwritable
from td3core.exporters.film.files import partial_path

ENCODERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("libx264", {"crf": "20", "preset": "fast"}),
    ("mpeg4", {"qmin": "2", "qmax": "6"}),
)
"""Encoders for MP4 with their options; the first one available in PyAV is used."""

_WEBP = {"quality": "60", "compression_level": "6"}
"""Higher compression takes longer, but costs no quality."""
_MOST_FPS = 60
_MOST_GIF_FPS = 33
"""Players may slow down GIF frames shorter than three hundredths of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmInfo:
    """A written film."""

    frames: int
    fps: float
    width: int
    height: int

    @property
    def duration_s(self) -> float:
        """Duration of the film in seconds."""
        return self.frames / self.fps if self.fps else 0.0


class FilmWriter:
    """A film being written. Every frame is encoded immediately, and none is kept.

    Only the WebP encoder keeps its output until the end.

    If an exception, such as Ctrl-C, leaves the context, the unfinished file is removed.

    Raises:
        RequestError: on entering, writing and leaving, if the file cannot be written.
    """

    def __init__(
        self, target: Path, fps: float, speed: float = 1.0, most_fps: float = math.inf
    ) -> None:
        """Prepare a film.

        Args:
            target: The file; its suffix, ``.mp4``, ``.gif`` or ``.webp``, selects the format.
            fps: Frames per second of the environment.
            speed: Speed factor of the film. Frames that no player could show in time are left out.
            most_fps: Maximum frames per second of the film, for a small file.
        """
        self._target, self._format = target, target.suffix.lower().removeprefix(".")
        most = min(_MOST_GIF_FPS if self._format == "gif" else max(_MOST_FPS, fps), most_fps)
        self._stride = max(1, math.ceil(fps * speed / most))
        rate = Fraction(fps * speed / self._stride).limit_denominator(1000)
        self._rate = max(rate, Fraction(1, 1000))
        self._offered = self._frames = 0
        self._stream: av.VideoStream | None = None
        self._palette: _Palette | None = None
        self._container: av.container.OutputContainer | None = None

    @property
    def fps(self) -> float:
        """Frames per second of the film."""
        return float(self._rate)

    @property
    def stride(self) -> int:
        """One in this many frames is kept."""
        return self._stride

    def __enter__(self) -> Self:
        try:
            # Without this, a WebP plays only once.
            options = {"loop": "0"} if self._format == "webp" else {}
            # An unfinished film must not look like a finished one.
            self._container = av.open(
                str(partial_path(self._target)), "w", format=self._format, options=options
            )
        except (OSError, FFmpegError) as problem:
            raise self._unwritable(problem) from problem
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        half = partial_path(self._target)
        try:
            self._finish(complete=problem is None)
            if problem is None:
                half.replace(self._target)
        except (OSError, FFmpegError) as failure:
            if problem is None:
                raise self._unwritable(failure) from failure
        finally:
            half.unlink(missing_ok=True)

    def write(self, frame: NDArray[np.uint8]) -> None:
        """Encode one frame (height, width, 3); the first one sets the size of the film."""
        self._offered += 1
        if (self._offered - 1) % self._stride:
            return
        try:
            self._encode(even_sized(frame))
        except (OSError, FFmpegError) as problem:
            raise self._unwritable(problem) from problem
        self._frames += 1

    def info(self) -> FilmInfo:
        """Return the data of the film so far."""
        stream = self._stream
        width, height = (stream.width, stream.height) if stream is not None else (0, 0)
        return FilmInfo(frames=self._frames, fps=self.fps, width=width, height=height)

    def _encode(self, pixels: NDArray[np.uint8]) -> None:
        assert self._container is not None
        if self._stream is None:
            self._stream = self._add_stream(self._container, *pixels.shape[:2])
        stream = self._stream
        frame = av.VideoFrame.from_ndarray(pixels, "rgb24")
        if (frame.width, frame.height) != (stream.width, stream.height):
            frame = frame.reformat(stream.width, stream.height)
        if self._palette is not None:
            frame = self._palette.apply(frame)
        frame.pts, frame.time_base = self._frames, 1 / self._rate
        self._container.mux(stream.encode(frame))

    def _add_stream(
        self, container: av.container.OutputContainer, height: int, width: int
    ) -> av.VideoStream:
        name, options = _encoder(self._format)
        stream = container.add_stream(name, rate=self._rate)
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width = height, width
        stream.pix_fmt = "pal8" if self._format == "gif" else "yuv420p"
        stream.options = dict(options)
        if self._format == "gif":
            self._palette = _Palette(width, height, self._rate)
        return stream

    def _finish(self, *, complete: bool) -> None:
        container, self._container = self._container, None
        if container is None:
            return
        try:
            if complete and self._stream is not None:
                container.mux(self._stream.encode())
        finally:
            container.close()

    def _unwritable(self, problem: Exception) -> RequestError:
        return unwritable(self._target, problem)


class _Palette:
    """Reduces each frame to its best 256 colours.

    Without dithering: its pattern doubles the file's size, and rendered scenes have few colours.
    """

    def __init__(self, width: int, height: int, rate: Fraction) -> None:
        graph = self._graph = av.filter.Graph()
        self._source = graph.add_buffer(
            width=width, height=height, format=av.VideoFormat("rgb24"), time_base=1 / rate
        )
        split, sink = graph.add("split"), graph.add("buffersink")
        generate = graph.add("palettegen", "stats_mode=single")
        use = graph.add("paletteuse", "new=1:dither=none")
        self._source.link_to(split)
        split.link_to(use, 0, 0)
        split.link_to(generate, 1, 0)
        generate.link_to(use, 0, 1)
        use.link_to(sink)
        self._sink = sink
        graph.configure()
        self._count = 0

    def apply(self, frame: av.VideoFrame) -> av.VideoFrame:
        frame.pts, self._count = self._count, self._count + 1
        self._source.push(frame)
        found = self._sink.pull()
        assert isinstance(found, av.VideoFrame)
        return found


def even_sized(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Crop a frame (height, width, 3) to even sizes: H.264 stores colour at half resolution."""
    height, width = frame.shape[0] & ~1, frame.shape[1] & ~1
    return np.ascontiguousarray(frame[:height, :width])


def _encoder(kind: str) -> tuple[str, dict[str, str]]:
    if kind == "gif":
        return "gif", {}
    if kind == "webp":
        if "libwebp_anim" not in av.codecs_available:
            raise RequestError("This build of PyAV cannot encode animated WebP; use .gif.")
        return "libwebp_anim", _WEBP
    for name, options in ENCODERS:
        if name in av.codecs_available:
            return name, options
    raise RequestError("This build of PyAV cannot encode MP4: it has neither H.264 nor MPEG-4.")
