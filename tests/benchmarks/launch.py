"""Launch the program, say how long it took until its window could be used, and close it.

The one who starts it says when that was, in seconds of the clock that both can read: what a system
says of a process's start can be half a second off.
"""

import json
import sys
import tempfile
import time


def main(began: float) -> int:
    """Print seconds from the start of the process to a painted window, and whether torch is in."""
    from PySide6.QtCore import QSettings
    from PySide6.QtWidgets import QApplication

    from studio.__main__ import main as launch

    def say() -> int:
        """Stand in for the event loop: the window is there once its first events are done."""
        QApplication.processEvents()
        print(json.dumps({"seconds": time.time() - began, "torch": "torch" in sys.modules}))
        QApplication.closeAllWindows()
        return 0

    # Plainly: unittest.mock would take a quarter of the time that is measured.
    QApplication.exec = staticmethod(say)  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, folder)
        return launch(["--runs-dir", folder])


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1])))
