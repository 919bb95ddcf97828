"""How long OpenMP's threads spin between two parallel regions before they sleep."""

import os

_SPINS = 10_000
"""Ten to two hundred microseconds, depending on the processor."""


def shorten_waits() -> None:
    """Let waiting threads sleep soon, unless the user has configured their wait.

    Otherwise threads of GNU OpenMP spin for milliseconds, which takes a core from the window and
    the evaluations. For small networks, sleeping at once would cost more than the second thread
    gains. Must be called before torch is imported; child processes inherit the setting.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(_SPINS))
