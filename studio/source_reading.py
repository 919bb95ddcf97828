"""Keeps PySide from reading the source of all later imports."""

from typing import Any


def stop_source_reading() -> None:
    """Tell PySide's import hook that no module uses ``__feature__``.

    Otherwise it would search the source of every imported module for the word PySide6
    (PYSIDE-2029). That takes a fifth of the window's start, and once torch is loaded the lines of
    1,400 files stay in memory, 50 MB. Nothing in this program uses ``__feature__``.
    """
    import PySide6.QtCore  # noqa: F401  (installs the hook)

    try:
        from shibokensupport import feature
    except ImportError:
        return
    if hasattr(feature, "_mod_uses_pyside"):
        feature._mod_uses_pyside = _uses_no_feature


def _uses_no_feature(module: Any) -> bool:
    del module
    return False
