"""How long OpenMP's threads wait between two parallel regions before they sleep."""

import os

_SPINS = 10_000
"""Ten to two hundred microseconds, depending on the processor."""


def shorten_waits() -> None:
    """Let waiting threads sleep soon, unless the user has set their waiting time.

    Otherwise threads of GNU's OpenMP spin for milliseconds, which takes a core from the window and
    the evaluations. Sleeping at once would cost small networks more than the second thread gains.
    Must be called before torch is imported; child processes inherit it.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(_SPINS))
