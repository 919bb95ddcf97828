"""``python -m td3core``: the headless commands, also where Qt is not installed."""

from td3core.system.import_path import drop_current_folder

if __name__ == "__main__":
    # Before anything else is imported.
    drop_current_folder()

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Without this, Ctrl-C during the imports below would print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from td3core.system import numerics

if __name__ == "__main__":
    # Before NumPy is imported.
    numerics.pin()
    from td3core.cli.app import run_program

    raise SystemExit(run_program())
