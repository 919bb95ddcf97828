"""Keeps PySide from reading the source of everything that is imported after it."""

from typing import Any


def stop_source_reading() -> None:
    """Tell PySide's import hook that no module uses ``__feature__``.

    To know, it would look for the word PySide6 in the source of every imported module
    (PYSIDE-2029). That takes a fifth of the start of the window, and once torch is loaded the
    lines of 1,400 files stay in memory, 50 MB. Nothing in this program uses ``__feature__``.
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
