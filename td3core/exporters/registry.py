"""The formats that checkpoints and figures can be exported to.

A new format is a module that defines ``export(checkpoint: Path, target: Path)``, and an
entry in :data:`EXPORTERS`; one for figures takes a ``FigureData`` in place of the checkpoint and
has its entry in :data:`FIGURE_EXPORTERS`, one for reports a ``Document`` and its entry in
:data:`REPORT_EXPORTERS`. The command line and the window read these lists.
"""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from td3core.errors import RequestError, unknown_name, unwritable
from td3core.exporters.film.files import SUFFIXES
from td3core.text import NO_TEXT, Text

if TYPE_CHECKING:
    from td3core.analysis.figure_data import FigureData
    from td3core.exporters.report.document import Document

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


class Export(Protocol[S_contra]):
    """The ``export`` function of a format's module."""

    def __call__(self, source: S_contra, target: Path, /) -> Text | None:
        """Write ``source`` to ``target`` in this format, replacing an existing file.

        Returns a note for the user: how the file was checked, and what it leaves out.

        Raises:
            RequestError: the source cannot be read or does not suit the format.
            OSError: ``target`` cannot be written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter(Generic[S]):
    """One file format. Its module is imported on first use: it may need PyAV or a simulator."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of its files, in lower case and with the dot."""
    about: Text
    """Contents of the file, in one line."""
    module: str
    title: Text = NO_TEXT
    """The name in the window, of a format that is chosen from a list."""
    makes_env: bool = False
    """True if it makes the agent's environment, whose code the user must then have allowed."""
    makes_folder: bool = False
    """True if it writes a folder; it replaces only a folder of an earlier export."""

    def load(self) -> Export[S]:
        """Import the module of the format and return its ``export``."""
        return cast("Export[S]", importlib.import_module(self.module).export)

    def export(self, source: S, target: Path) -> Text | None:
        """Write ``source`` to ``target``, replacing an existing file; return a note for the user.

        Raises:
            RequestError: the source cannot be read, does not suit the format, or ``target``
                cannot be written.
        """
        try:
            return self.load()(source, target)
        except OSError as problem:
            raise unwritable(target, problem) from problem


EXPORTERS: tuple[Exporter[Path], ...] = (
    Exporter(
        name="weights",
        title=Text("Weights"),
        suffixes=(".safetensors",),
        about=Text("The networks only, a quarter of the size."),
        module="td3core.exporters.weights",
    ),
    Exporter(
        name="video",
        title=Text("Video"),
        suffixes=SUFFIXES,
        about=Text("A film of one noise-free episode, one frame per step."),
        module="td3core.exporters.video",
        makes_env=True,
    ),
    Exporter(
        name="numpy",
        title=Text("NumPy"),
        suffixes=(".py",),
        about=Text("The actor as one Python file that needs NumPy only."),
        module="td3core.exporters.numpy_file",
        makes_env=True,
    ),
    Exporter(
        name="c",
        title=Text("C header"),
        suffixes=(".h",),
        about=Text("The actor as a C99 header for microcontrollers."),
        module="td3core.exporters.c_header",
        makes_env=True,
    ),
    Exporter(
        name="onnx",
        title=Text("ONNX"),
        suffixes=(".onnx",),
        about=Text("The actor as ONNX, compared in onnxruntime (needs the extra onnx)."),
        module="td3core.exporters.onnx_file",
        makes_env=True,
    ),
    Exporter(
        name="stable-baselines3",
        title=Text("stable-baselines3"),
        suffixes=(".zip",),
        about=Text("The agent as a zip that TD3.load of stable-baselines3 opens and trains on."),
        module="td3core.exporters.stable_baselines3_zip",
        makes_env=True,
    ),
    Exporter(
        name="hub",
        title=Text("Hub folder"),
        suffixes=(".hub",),
        about=Text("A folder for the Hugging Face Hub: card, networks, actor in NumPy, film."),
        module="td3core.exporters.hub_folder",
        makes_env=True,
        makes_folder=True,
    ),
)


FIGURE_EXPORTERS: "tuple[Exporter[FigureData], ...]" = (
    Exporter(
        name="figure",
        suffixes=(".svg", ".pdf", ".png"),
        about=Text("A figure for print, with axes, units and legend."),
        module="td3core.exporters.figure",
    ),
    Exporter(
        name="curves",
        suffixes=(".csv",),
        about=Text("The points of every curve and band."),
        module="td3core.exporters.figure_table",
    ),
)


REPORT_EXPORTERS: "tuple[Exporter[Document], ...]" = (
    Exporter(
        name="page",
        suffixes=(".html",),
        about=Text("A report as one page for any browser."),
        module="td3core.exporters.report.page",
    ),
    Exporter(
        name="print",
        suffixes=(".pdf",),
        about=Text("A report to be printed."),
        module="td3core.exporters.report.printed",
    ),
)


def export_figure(figure: "FigureData", target: Path) -> None:
    """Write a figure in the format that the suffix of ``target`` names.

    Raises:
        RequestError: the suffix names no format, or ``target`` cannot be written.
    """
    with_suffix_of(target, FIGURE_EXPORTERS).export(figure, target)


def with_suffix_of(target: Path, exporters: tuple[Exporter[S], ...]) -> Exporter[S]:
    """Return the format that the suffix of ``target`` names.

    Raises:
        RequestError: the suffix names no format.
    """
    suffix = target.suffix.lower()
    found = next((each for each in exporters if suffix in each.suffixes), None)
    if found is None:
        raise RequestError(
            "The suffix of {target} matches no format; choose one: {names}.",
            target=str(target),
            names=", ".join(suffix for each in exporters for suffix in each.suffixes),
        )
    return found


def find_exporter(target: Path, name: str | None = None) -> Exporter[Path]:
    """Return the format called ``name``, or by default the one with the suffix of ``target``.

    Raises:
        RequestError: there is no such format, or the suffix matches none.
    """
    if name is None:
        return with_suffix_of(target, EXPORTERS)
    known = {exporter.name: exporter for exporter in EXPORTERS}
    if name not in known:
        raise unknown_name("There is no format called {name}.", name, list(known))
    return known[name]
