"""Lists of names in the user's settings."""

from PySide6.QtCore import QSettings


def stored_names(settings: QSettings, key: str) -> list[str]:
    """Return a list of names as it was stored, without empty ones."""
    stored = settings.value(key)
    # A list of one is stored as a string.
    names = stored if isinstance(stored, list) else [stored]
    return [str(name) for name in names if name]
