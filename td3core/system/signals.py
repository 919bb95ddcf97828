"""Signals that reach all processes of a terminal or a service, though only one handles them."""

import signal

_TERMINAL = ("SIGINT", "SIGHUP")


def ignore_terminal() -> None:
    """Ignore the signals that a terminal sends to its process group: the parent handles them."""
    _ignore(*_TERMINAL)


def leave_signals_to_parent() -> None:
    """Ignore also the one that a service manager sends to its processes.

    The training process handles them: it needs its children to save the run.
    """
    _ignore(*_TERMINAL, "SIGTERM")


def ending_signals() -> list[int]:
    """Return the signals that ask this process to end; without SIGHUP if ``nohup`` ignores it."""
    numbers: list[int] = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        numbers.append(hangup)
    return numbers


def _ignore(*names: str) -> None:
    for name in names:
        # Windows lacks SIGHUP.
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
