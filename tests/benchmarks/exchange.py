"""Sizes and processor times of what is exported and imported.

Command: ``python -m tests.benchmarks.exchange``. Each figure is the least of several tries, with
the format loaded; the film, which is most of the Hub folder, is made once.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

from td3core import checkpoint
from td3core.config import EnvChoice
from td3core.envs.make import check_env
from td3core.exporters.registry import EXPORTERS
from td3core.importers import importing

AGENTS = ("Pendulum-v1", "BipedalWalker-v3")
TRIES, SLOW = 3, ("hub", "video")


def least(work: Callable[[], object], tries: int) -> float:
    """Return the fewest seconds of processor time that it takes, all threads together."""
    found = []
    for _ in range(tries):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def size(path: Path) -> int:
    each = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
    return sum(part.stat().st_size for part in each)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def measure_exports(env_id: str, agent: Path, folder: Path) -> None:
    for exporter in EXPORTERS:
        target = folder / f"{env_id}_{exporter.name}{exporter.suffixes[0]}"

        def export(exporter=exporter, target=target) -> None:
            remove(target)
            exporter.export(agent, target)

        export()
        seconds = least(export, 1 if exporter.name in SLOW else TRIES)
        print(f"{env_id:18} {exporter.name:18} {size(target):>9,} bytes  {seconds:.2f} s")


def measure_import(env_id: str, folder: Path) -> None:
    """Import the zip that was exported: as large as that of stable-baselines3."""
    source, target = folder / f"{env_id}_stable-baselines3.zip", folder / "back.safetensors"
    choice = EnvChoice(env_id)

    def bring() -> None:
        importing.import_to_file(importing.examine(source), choice, check_env, target)

    bring()
    reading, whole = least(lambda: importing.examine(source), TRIES), least(bring, TRIES)
    print(f"{env_id:18} import  {size(source):,} -> {size(target):,} bytes ", end="")
    print(f"{reading:.3f} s to read, {whole:.3f} s with its environment and writing")


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        for env_id in AGENTS:
            with as_file(files("resources") / "agents" / f"{env_id}.safetensors") as agent:
                print(env_id, "hidden", checkpoint.read_header(agent).config.actor_hidden)
                measure_exports(env_id, agent, Path(made))
                measure_import(env_id, Path(made))


if __name__ == "__main__":
    main()
