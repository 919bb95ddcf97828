"""Open the window once, say how long it took since this process was started, and close it."""

import json
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Print seconds from the start of the process to a painted window, and whether torch is in."""
    import psutil

    started = psutil.Process().create_time()
    from PySide6.QtCore import QSettings
    from PySide6.QtWidgets import QApplication

    from studio.app import build_window

    with tempfile.TemporaryDirectory() as folder:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, folder)
        app = QApplication([])
        window = build_window(Path(folder) / "runs")
        window.show()
        app.processEvents()
        print(json.dumps({"seconds": time.time() - started, "torch": "torch" in sys.modules}))
        window.close()


if __name__ == "__main__":
    main()
