"""Importing a file, start to finish: read it, find its environment, write the result."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from td3core.checkpoint import SUFFIX
from td3core.config.env_choice import EnvChoice
from td3core.envs.catalogue import find_known
from td3core.envs.info import EnvInfo
from td3core.errors import RequestError, brief
from td3core.importers import monitor, registry, rl_zoo, vec_normalize
from td3core.importers.conversion import checkpoint_of, fitting, said_of
from td3core.importers.curve_file import CurveFile
from td3core.importers.destination import write_agent, write_checkpoint, write_curves
from td3core.importers.foreign import ForeignAgent
from td3core.runs.layout import CHECKPOINTS, LAST
from td3core.runs.listing import list_runs
from td3core.runs.metadata import parse_group
from td3core.system.regular_files import glob, is_regular
from td3core.text import Text

EnvMaker = Callable[[EnvChoice], EnvInfo]
"""Makes an environment whose code may run, and returns its sizes and bounds."""
_MOST_CURVES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Contents of a file, before they are converted."""

    content: ForeignAgent | CurveFile
    name: str
    """The usual name of a run of them."""
    curves: tuple[CurveFile, ...] = ()
    """Curves of the agent's training, from files next to it."""

    @property
    def has_agent(self) -> bool:
        """Whether there is an agent, not only curves."""
        return isinstance(self.content, ForeignAgent)

    @property
    def kind(self) -> str:
        """The program that wrote it."""
        return self.content.kind

    @property
    def env(self) -> EnvChoice | None:
        """The environment that the file states."""
        if isinstance(self.content, ForeignAgent):
            return self.content.env
        return EnvChoice(self.content.env_id) if self.content.env_id else None

    @property
    def likely(self) -> list[str]:
        """Environments suggested by file names or sizes, the likeliest first."""
        named = [self.content.likely_env] if self.content.likely_env else []
        sized = fitting(self.content) if isinstance(self.content, ForeignAgent) else []
        # Known environments first: a folder may have any name.
        return sorted(dict.fromkeys([*named, *sized]), key=lambda each: find_known(each) is None)

    @property
    def takes_statistics(self) -> bool:
        """Whether statistics of observations may be added from another file."""
        return _takes_statistics(self.content)

    @property
    def notes(self) -> list[Text]:
        """Notes on what the file lacks."""
        if isinstance(self.content, ForeignAgent):
            return said_of(self.content)
        return list(self.content.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import."""

    run: Path | None
    """The folder of the run; None if only a file was requested."""
    checkpoint: Path | None
    """None for curves alone."""
    env_id: str
    sha256: str
    notes: tuple[Text, ...] = ()
    """Notes on what the file lacks, and on the environment."""


def examine(path: Path, statistics: Path | None = None) -> Found:
    """Read a file or folder, without writing or running anything.

    Args:
        path: The file or folder to import.
        statistics: The ``vecnormalize.pkl`` of an agent of stable-baselines3.

    Raises:
        RequestError: it cannot be read; the message names file, part and reason.
    """
    content = registry.read(path)
    if statistics is not None:
        if not isinstance(content, ForeignAgent) or not _takes_statistics(content):
            raise RequestError(
                "{file} takes no statistics of observations from another file.", file=path.name
            )
        content = vec_normalize.normalised(content, statistics)
    folder = path if path.is_dir() else path.parent
    zoo = isinstance(content, ForeignAgent) and rl_zoo.is_readable(path)
    # Other programs call all files of curves alike: their folder tells them apart.
    named = path.name if isinstance(content, ForeignAgent) else "/".join(path.absolute().parts[-2:])
    return Found(
        content=content,
        name=f"{named} ({content.kind})",
        curves=_curves_beside(folder) if zoo else (),
    )


def _takes_statistics(content: ForeignAgent | CurveFile) -> bool:
    if not isinstance(content, ForeignAgent):
        return False
    return content.statistics_apart and content.normalisation is None


def _curves_beside(folder: Path) -> tuple[CurveFile, ...]:
    """Return evaluations and episodes of a run of RL Zoo."""
    evaluations = folder / "evaluations.npz"
    found = [monitor.read(evaluations)] if is_regular(evaluations) else []
    monitors = glob(folder, "*monitor.csv")[:_MOST_CURVES]
    # Several monitors belong to parallel environments: their order of steps is not on record.
    if len(monitors) == 1:
        found.append(monitor.read(monitors[0]))
    return tuple(found)


def choice_of(found: Found, given: EnvChoice | None, file: str) -> EnvChoice:
    """Return the environment to use: the given one, else the one that the file states.

    If both are the same, arguments that are not given are those of the file.

    Raises:
        RequestError: there is neither; the message names the environments that would fit.
    """
    choice = given or found.env
    if given and found.env and not given.args and given.env_id == found.env.env_id:
        choice = found.env
    if choice is not None:
        return choice
    if not found.likely:
        raise RequestError("{file} does not name its environment; --env does.", file=file)
    raise RequestError(
        "{file} does not name its environment; --env does. It may be {names}.",
        file=file,
        names=brief(", ".join(found.likely)),
    )


def import_to_run(
    found: Found,
    choice: EnvChoice,
    make: EnvMaker,
    runs_dir: Path,
    *,
    name: str = "",
    group: str = "",
) -> Imported:
    """Make a run from the file's contents.

    Args:
        found: the contents.
        choice: their environment.
        make: makes it.
        runs_dir: the folder of runs.
        name: the name of the run; empty for the usual one.
        group: the group of runs that curves belong to, which are compared as one.

    Raises:
        RequestError: it does not suit the environment, or cannot be written; no run remains. Or the
            group is no name of a folder, or one of an agent.
    """
    if group and found.has_agent:
        raise RequestError("An agent's run has no group; {option} is for curves.", option="--group")
    if group != parse_group(group):
        raise RequestError("{group} cannot name a group.", group=repr(group))
    name = name or found.name
    content = found.content
    if isinstance(content, CurveFile):
        content = replace(content, notes=(*content.notes, *_doubts(choice.env_id, runs_dir)))
        run = write_curves(runs_dir, choice, content, name, group)
        return Imported(
            run=run,
            checkpoint=None,
            env_id=choice.env_id,
            sha256=content.sources[0][1],
            notes=content.notes,
        )
    agent = checkpoint_of(content, make(choice))
    run = write_agent(runs_dir, content, agent, found.curves, name)
    return Imported(
        run=run,
        checkpoint=run / CHECKPOINTS / LAST,
        env_id=agent.header.env.env_id,
        sha256=content.sha256,
        notes=tuple(found.notes),
    )


def _doubts(env_id: str, runs_dir: Path) -> tuple[Text, ...]:
    """Return a note if the environment of curves is unknown here: curves do not need it."""
    # Imported here: it loads Gymnasium.
    from td3core.envs.make import is_registered

    # ``module:id`` is not checked: its module is not imported for curves.
    if ":" in env_id or is_registered(env_id):
        return ()
    if any(run.config.env == env_id for run in list_runs(runs_dir)):
        return ()
    return (Text("No environment called {env_id} is known here.", env_id=env_id),)


def import_to_file(found: Found, choice: EnvChoice, make: EnvMaker, target: Path) -> Imported:
    """Write an agent to a checkpoint of any name, replacing an existing file.

    Raises:
        RequestError: there is no agent, it does not suit the environment, or cannot be written.
    """
    content = found.content
    if not isinstance(content, ForeignAgent):
        raise RequestError("Curves are imported as a run; --out is for agents.")
    if target.suffix != SUFFIX:
        raise RequestError("{path} must end in {suffix}.", path=str(target), suffix=SUFFIX)
    agent = checkpoint_of(content, make(choice))
    write_checkpoint(agent, target)
    return Imported(
        run=None,
        checkpoint=target,
        env_id=agent.header.env.env_id,
        sha256=content.sha256,
        notes=tuple(found.notes),
    )
