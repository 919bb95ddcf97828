"""What a child process imports from."""

import os
import sys
from multiprocessing.connection import Connection


def report_to(pipe: Connection) -> None:
    """Send the search path, and whether processes started from here would have a safe one."""
    pipe.send((sys.path, "PYTHONSAFEPATH" in os.environ))
