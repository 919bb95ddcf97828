"""Messages for the window: labels of settings in place of the command line's keys."""

from td3core.config import label_of
from td3core.text import Text


def in_labels(message: Text | str) -> str:
    """Render a message with the labels of the settings it names: ``Warm-up cannot be −1; ...``.

    A plain string, from an earlier version or from other software, stays as it is.
    """
    return str(message.with_settings(label_of) if isinstance(message, Text) else message)
