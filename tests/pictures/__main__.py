"""Retakes the pictures of README and manual: trains, tunes, kills, compares in the real window.

    python -m tests.pictures FOLDER [NAME]...

takes those named, or all; FOLDER is resources/pictures for those that are shipped. Each module
uses a window of its own, 1280 by 800, and takes:

    first_start   start
    one_run       dark journal algorithm light resume branch timeline
    group         group
    groups        compare report
    health        health
    sweep         sweep
    checkpoint    inspect
    replay        instruments compare_agents

Nothing is staged: every curve comes from a training that went on meanwhile. All together take ten
minutes or more; report needs a package of its own (see ``page.py``). The other files are drawn by

    algorithms.png       python tests/benchmarks/algorithms.py draw FILE.png
    curves.png           python tests/benchmarks/proven.py draw FILE.png
    overestimation.png   python tests/benchmarks/overestimation.py draw FILE.png
    first_minute.webp    python tests/first_minute.py FILE.webp
    growth.gif           td3-studio film AGENT... --out FILE.gif, of the walker's bundled agents
    robot.png            frames of td3-studio replay RUN --video FILE.mp4, of the run in robot.md
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.walkthroughs.__main__ import walk

_LIMIT_S = 3_600
_SIZE, _THEME = "1280x800", "light"


def pictures_of() -> dict[str, list[str]]:
    """Return the pictures that each module takes."""
    lines = re.findall(r"^    (\w+) {2,}([a-z_ ]+)$", __doc__ or "", re.M)
    return {module: names.split() for module, names in lines}


def drawn_otherwise() -> dict[str, str]:
    """Return the files that are drawn by other commands, with these."""
    return dict(re.findall(r"^    (\w+\.\w+) {2,}(.+)$", __doc__ or "", re.M))


def retake(module: str, wanted: set[str], folder: Path) -> bool:
    """Take the pictures of a module, and keep those wanted; return whether all were taken."""
    with tempfile.TemporaryDirectory(prefix="td3-studio-pictures-") as name:
        taken = Path(name)
        done = walk(module, taken, _THEME, _SIZE, among="tests.pictures", limit_s=_LIMIT_S) == 0
        for name in sorted(wanted):
            # Those taken before a failure are as good.
            for file in taken.glob(f"{module}_{_THEME}_{_SIZE}_[0-9][0-9]_{name}.png"):
                target = folder / f"{name}.png"
                Image.open(file).convert("RGB").save(target, optimize=True)
                sys.stderr.write(f"{target} {target.stat().st_size / 1000:.0f} kB\n")
    return done


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.pictures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    every = sorted(name for names in pictures_of().values() for name in names)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[])
    given = parser.parse_args()
    if unknown := set(given.names) - set(every):
        parser.error(f"no such picture: {', '.join(sorted(unknown))}")
    wanted = set(given.names or every)
    given.folder.mkdir(parents=True, exist_ok=True)
    failed = [
        module
        for module, names in pictures_of().items()
        if wanted & set(names) and not retake(module, wanted & set(names), given.folder)
    ]
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
