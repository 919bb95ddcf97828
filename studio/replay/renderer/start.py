"""Start of the renderer's process: the signs of life first, then everything else."""

import os
from multiprocessing.connection import Connection

from studio.replay.renderer.heartbeat import Heartbeat, LifeSigns
from td3core.system.child_process import LinePipe
from td3core.system.signals import ignore_terminal
from td3core.text import choose_language


def main(connection: Connection, prefix: str, signs: LifeSigns, variables: dict[str, str]) -> None:
    """Run the renderer until the pipe closes or ``Quit`` arrives.

    ``variables`` are environment variables that simulators read when they are imported.
    """
    os.environ.update(variables)
    # The window shows the renderer's messages as they are.
    choose_language()
    ignore_terminal()
    heartbeat = Heartbeat(signs)
    try:
        with heartbeat.waiting(loading=True):
            # Imported late: the import takes so long that it must be watched.
            from studio.replay.renderer import process, protocol
        process.main(LinePipe(connection, protocol.CODEC), prefix, heartbeat)
    finally:
        heartbeat.stop()
