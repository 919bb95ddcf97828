"""Walks people through the window, and saves a picture of each stage.

python -m tests.walkthroughs FOLDER [--theme dark] [--size 1280x800] [--person newcomer]...

takes about half a minute for each of them, in a process of its own. Exits with 1 if one of them
does not see what the window promises.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PEOPLE = ("newcomer", "tinkerer", "keyboard", "researcher", "robotics")
_LIMIT_S = 400


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.walkthroughs")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--person", choices=PEOPLE, action="append")
    return parser.parse_args()


def _screen(home: Path, size: str) -> str:
    """Write the file of a screen that is as large as the window."""
    width, height = map(int, size.split("x"))
    screen = {"name": "screen", "x": 0, "y": 0, "width": width, "height": height + 60}
    file = home / "screen.json"
    file.write_text(json.dumps({"screens": [screen | {"logicalDpi": 96, "dpr": 1.0}]}))
    return f"offscreen:configfile={file}"


def walk(
    person: str,
    folder: Path,
    theme: str,
    size: str,
    *,
    among: str = "tests.walkthroughs",
    limit_s: float = _LIMIT_S,
) -> int:
    """Walk one person through a window of its own; return the exit status.

    Args:
        person: The module of the person.
        folder: Where pictures are saved.
        theme: The theme of the window.
        size: Its size, such as ``1280x800``.
        among: The package of the module.
        limit_s: The process is killed after this time.
    """
    prefix = f"td3-studio-{person}-"
    # The renderer may end a moment after its window, and still write to its cache.
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / "code").mkdir()
        own = {
            "QT_QPA_PLATFORM": _screen(home, size),
            "SDL_VIDEODRIVER": "dummy",
            "PYGAME_HIDE_SUPPORT_PROMPT": "1",
            "TD3_STUDIO_TRUST": str(home / "trusted.json"),
            "TD3_STUDIO_PRESETS": str(home / "presets"),
            "XDG_CONFIG_HOME": str(home / "config"),
            # The cache is this user's: in an empty one the update would be compiled first.
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(home / "code"))),
        }
        words = [f"{among}.{person}", str(folder.absolute()), theme, size, str(home)]
        module = [sys.executable, "-m", "tests.walkthroughs.child"]
        try:
            return subprocess.run(
                [*module, *words], env=os.environ | own, cwd=ROOT, check=False, timeout=limit_s
            ).returncode
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"{person} took longer than {limit_s:g} s\n")
            return 1


def main() -> int:
    given = _arguments()
    given.folder.mkdir(parents=True, exist_ok=True)
    failed = [
        person
        for person in given.person or PEOPLE
        if walk(person, given.folder, given.theme, given.size) != 0
    ]
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
