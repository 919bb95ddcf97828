"""Draws the top of a report as a browser does: ``python -m tests.pictures.page FILE PNG SCHEME``.

Needs Chromium's engine, which nothing else does: ``pip install PySide6_Addons`` of the version of
PySide6_Essentials. SCHEME is light or dark; the engine takes it when it starts. A PDF is drawn
on grey, as by a viewer.
"""

import os
import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QColor, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QApplication

from tests.walkthroughs.user import NotSeenError, User

_PAGE, _SHOWN = QSize(940, 1277), QSize(533, 724)
"""Of a page in pixels, and of its picture."""
_MARGIN = 32
_PAINTED_MS = 1_500
_SCHEMES = {"dark": 0, "light": 1}


def draw(by: User, html: Path, pdf: Path) -> QPixmap:
    """Return a page in a browser, light and dark, and printed, side by side."""
    whole = QImage(3 * _SHOWN.width(), _SHOWN.height(), QImage.Format.Format_RGB888)
    with QPainter(whole) as painter:
        for place, (file, scheme) in enumerate(
            ((html, "light"), (html, "dark"), (pdf, "light")),
        ):
            png = by.home / f"page{place}.png"
            words = [str(file), str(png), scheme]
            drawing = subprocess.Popen([sys.executable, "-m", "tests.pictures.page", *words])
            by.expect(f"{file.name} is drawn", lambda d=drawing: d.poll() is not None)
            if not png.exists():
                raise NotSeenError(f"{file.name} can be drawn: see {__name__}")
            smooth = Qt.TransformationMode.SmoothTransformation
            page = QImage(str(png)).scaled(_SHOWN, mode=smooth)
            painter.drawImage(QPoint(place * _SHOWN.width(), 0), page)
    return QPixmap.fromImage(whole)


def _in_browser(app: QApplication, html: Path, png: Path) -> None:
    from PySide6.QtWebEngineCore import QWebEngineSettings
    from PySide6.QtWebEngineWidgets import QWebEngineView

    view = QWebEngineView()
    view.settings().setAttribute(QWebEngineSettings.WebAttribute.ShowScrollBars, False)
    view.resize(_PAGE)

    def keep() -> None:
        view.grab().save(str(png))
        app.quit()

    # Loaded is not yet painted, and nothing says when it is.
    view.loadFinished.connect(lambda _: QTimer.singleShot(_PAINTED_MS, keep))
    view.setUrl(QUrl.fromLocalFile(str(html)))
    view.show()
    app.exec()


def _printed(pdf: Path, png: Path) -> None:
    from PySide6.QtPdf import QPdfDocument

    document = QPdfDocument()
    document.load(str(pdf))
    width = _PAGE.width() - 2 * _MARGIN
    paper = document.pagePointSize(0)
    sheet = document.render(0, QSize(width, round(width * paper.height() / paper.width())))
    page = QImage(_PAGE, QImage.Format.Format_RGB888)
    page.fill(QColor("#c8ccd2"))
    with QPainter(page) as painter:
        painter.fillRect(_MARGIN, _MARGIN, sheet.width(), sheet.height(), Qt.GlobalColor.white)
        painter.drawImage(QPoint(_MARGIN, _MARGIN), sheet)
    page.save(str(png))


def main() -> None:
    file, png, scheme = Path(sys.argv[1]), Path(sys.argv[2]), _SCHEMES[sys.argv[3]]
    # Without a sandbox, as it only opens the page written just before: root may not use one.
    os.environ["QTWEBENGINE_DISABLE_SANDBOX"] = "1"
    os.environ["QTWEBENGINE_CHROMIUM_FLAGS"] = (
        f"--disable-gpu --blink-settings=preferredColorScheme={scheme}"
    )
    app = QApplication([])
    if file.suffix == ".pdf":
        _printed(file, png)
    else:
        _in_browser(app, file, png)


if __name__ == "__main__":
    main()
