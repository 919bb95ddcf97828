"""Asks for the file to write."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from td3core.text import Text


def ask_for_file(
    parent: QWidget,
    title: str,
    first: str,
    kinds: Mapping[str, Sequence[str]],
    refuse: Callable[[Text], object],
) -> Path | None:
    """Ask for the file to write; None if the user cancels, or the name is refused.

    Args:
        parent: the widget that asks.
        title: title of the dialog.
        first: the proposed name.
        kinds: the suffixes of each kind of file, by its filter. A name with none of them gets the
            first one of the chosen kind.
        refuse: called with the reason if the name with its suffix exists, for which the dialog did
            not confirm overwriting.
    """
    name, kind = QFileDialog.getSaveFileName(parent, title, first, ";;".join(kinds))
    if not name:
        return None
    path = Path(name)
    # ``tau_0.005`` has no suffix.
    if path.suffix.lower() not in (suffix for each in kinds.values() for suffix in each):
        suffix, *_ = kinds.get(kind) or next(iter(kinds.values()))
        path = path.with_name(f"{path.name}{suffix}")
    if path != Path(name) and path.exists():
        refuse(Text("{file} exists already; nothing was written.", file=path.name))
        return None
    return path
