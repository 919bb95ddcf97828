"""The user's own environments that were trained recently, kept in the user's settings."""

from collections.abc import Iterator

from PySide6.QtCore import QSettings

from studio.widgets.stored_names import stored_names
from td3core.envs.catalogue import find_known

_KEY = "own_environments"
_KEPT = 12


class RecentEnvironments:
    """Names of environments outside the catalogue, latest first."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings
        self._names = stored_names(settings, _KEY)[:_KEPT]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def add(self, env_id: str) -> bool:
        """Put an environment first; return whether that changed the list."""
        if find_known(env_id) is not None or self._names[:1] == [env_id]:
            return False
        others = [name for name in self._names if name != env_id]
        self._names = [env_id, *others][:_KEPT]
        self._settings.setValue(_KEY, self._names)
        return True
