"""Entry point: opens the window, or passes a command to the engine."""

from td3core.system.import_path import drop_current_folder

if __name__ == "__main__":
    # Before anything else is imported.
    drop_current_folder()

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Ctrl-C during an import would print a traceback. Also for the installed script, which imports
    # this module.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from td3core.errors import RequestError
from td3core.system import numerics

# Before anything imports NumPy.
numerics.pin()


def main(arguments: list[str] | None = None) -> int:
    """Open the window, or run the given command; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    paths = [Path(word) for word in arguments]
    if arguments and all(_is_agent_or_run(path) for path in paths):
        return _open_window([], paths)
    if not arguments or arguments[0].split("=")[0] == "--runs-dir":
        return _open_window(arguments)
    from td3core.cli.app import run_program

    return run_program(arguments)


def _is_agent_or_run(path: Path) -> bool:
    try:
        return path.suffix == ".safetensors" or (path / "run.toml").is_file()
    except (OSError, ValueError):
        return False


def _open_window(arguments: list[str], paths: Sequence[Path] = ()) -> int:
    # Everything created during the start stays; garbage collection would only take time.
    gc.disable()
    from studio.source_reading import stop_source_reading

    stop_source_reading()
    from studio.app import run

    try:
        return run(_runs_dir(arguments), paths)
    except RequestError as problem:
        sys.stderr.write(f"td3-studio: {problem}\n")
        return 2


def _runs_dir(arguments: list[str]) -> Path | None:
    if not arguments:
        return None
    words = " ".join(arguments)
    match arguments:
        case ["--runs-dir", folder]:
            return Path(folder)
        case [one] if one.startswith("--runs-dir="):
            return Path(one.partition("=")[2])
    raise RequestError("The window takes only --runs-dir DIR, not: {words}.", words=words)


if __name__ == "__main__":
    raise SystemExit(main())
