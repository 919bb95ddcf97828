"""Colours and icons, light and dark, from ``resources/theme``."""

import gc
import tomllib
from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from studio.theme.icons import icon
from studio.theme.sizes import SheetSizes

_STYLE = "fusion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Named colours, as #rrggbb text."""

    name: str
    dark: bool
    window: str
    panel: str
    field: str
    border: str
    fill: str
    """Colour of empty, switched off or disabled parts."""
    text: str
    muted: str
    accent: str
    on_accent: str
    good: str
    warn: str
    bad: str
    grid: str
    curve_1: str
    curve_2: str
    curve_3: str
    curve_raw: str
    curve_eval: str
    marker: str
    compare: tuple[str, ...]
    """Colours of compared runs, distinguishable by colour-blind readers."""

    def icon(self, name: str, colour: str | None = None, *, selected: str | None = None) -> QIcon:
        """Return a Material Design icon in the theme's text colour, or another one.

        ``selected`` is its colour in a selected row, if different.
        """
        colour = colour or self.text
        # Without a colour of their own, disabled icons would look enabled.
        return icon(
            name, color=colour, color_disabled=self.muted, color_selected=selected or colour
        )

    def on_panel(self, colour: QColor, alpha: float) -> QColor:
        """Blend ``colour`` with the panel at an opacity of 0 to 1; return an opaque colour.

        Qt draws translucent lines forty times slower than opaque ones.
        """
        background = QColor(self.panel)

        def mixed(front: float, back: float) -> float:
            return alpha * front + (1.0 - alpha) * back

        return QColor.fromRgbF(
            mixed(colour.redF(), background.redF()),
            mixed(colour.greenF(), background.greenF()),
            mixed(colour.blueF(), background.blueF()),
        )


def load_theme(name: str) -> Theme:
    """Return the theme named ``light`` or ``dark``."""
    text = (files("resources") / "theme" / f"{name}.toml").read_text("utf-8")
    values = tomllib.loads(text)
    return Theme(**values | {"compare": tuple(values["compare"])})


def theme_of(widget: QWidget) -> Theme:
    """Return the current theme, from a widget's palette: for widgets that it is not passed to."""
    dark = widget.palette().base().color().lightnessF() < 0.5
    return load_theme("dark" if dark else "light")


def system_theme(app: QApplication) -> str:
    """Return the name of the theme that matches the desktop."""
    dark = app.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return "dark" if dark else "light"


def take_off_theme(app: QApplication) -> None:
    """Remove the style sheet before a window is made; :func:`apply_theme` restores it.

    Qt restyles every widget that gets a parent, with all its children, at every level of a window.
    With a style sheet that takes half of the time to make the window.
    """
    with _nothing_collected():
        app.setStyleSheet("")
        app.setStyle(_STYLE)


def apply_theme(app: QApplication, theme: Theme) -> None:
    """Apply a theme to the whole application, in sizes that suit its font.

    Every widget is restyled, so a theme already in use is left alone.
    """
    folder = files("resources")
    style = (folder / "theme" / "style.qss").read_text("utf-8")
    icons = {
        name: str(folder / "icons" / f"{name}_{theme.name}.svg").replace("\\", "/")
        for name in ("arrow_down", "arrow_left", "arrow_right", "check")
    }
    sizes: dict[str, Any] = SheetSizes()
    colours = {name: getattr(theme, name) for name in Theme.__slots__}
    sheet = Template(style).substitute(ChainMap(colours, sizes), **icons)
    if sheet != app.styleSheet():
        with _nothing_collected():
            # Under a style sheet, which is this program's own, the style has no name.
            if not app.styleSheet() and app.style().name() != _STYLE:
                app.setStyle(_STYLE)
            app.setPalette(_palette(theme))
            app.setStyleSheet(sheet)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Disable garbage collection inside the context.

    Qt iterates over a list of all widgets and notifies each that its style has changed. Python code
    run by that may trigger the collector, which would delete closed windows in that list.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _palette(theme: Theme) -> QPalette:
    palette, role = QPalette(), QPalette.ColorRole
    for target, colour in {
        role.Window: theme.window,
        role.WindowText: theme.text,
        role.Base: theme.field,
        role.AlternateBase: theme.panel,
        role.Text: theme.text,
        role.Button: theme.field,
        role.ButtonText: theme.text,
        role.BrightText: theme.bad,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.ToolTipBase: theme.panel,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.muted,
        role.Link: theme.accent,
        role.Mid: theme.border,
    }.items():
        palette.setColor(target, QColor(colour))
    for target in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, target, QColor(theme.muted))
    return palette
