"""Asks the user, if needed, to allow the code of environments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from studio.consent.dialog import ConsentDialog
from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.outcome import outcome_of
from td3core.config.env_choice import EnvChoice
from td3core.envs import trust, trust_store
from td3core.system import allowed_code
from td3core.system.allowed_code import LocatedModule
from td3core.text import Text

Then = Callable[[], object]
Declined = Callable[[LocatedModule], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examined:
    """The code that an environment needs, as found in the background."""

    missing: tuple[LocatedModule, ...] = ()
    problem: Text | None = None


def nothing_started(module: LocatedModule) -> Text:
    """Return the message that no training starts, because this module's code is not allowed."""
    return Text("Nothing was started: the code in {path} was not allowed to run.", path=module.path)


def _ignore(_: LocatedModule) -> None:
    return None


class CodeConsent(QObject):
    """Obtains consent to the code of environments: remembered, or from the user in a dialog.

    Consents are in the list of this process (:mod:`td3core.system.allowed_code`). Modules are
    located, and answers read and written, in the background.
    """

    refused = Signal(object)
    """An answer could not be remembered; a ``Text``."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._declined: set[LocatedModule] = set()
        self._asking: dict[LocatedModule, ConsentDialog] = {}
        self._queue = BackgroundQueue("consent", self)
        self._queue.failed.connect(self.refused)
        self._closed = False

    def obtain(
        self,
        choice: EnvChoice,
        then: Then,
        declined: Declined = _ignore,
        *,
        typed: bool = False,
        insist: bool = True,
    ) -> None:
        """Call ``then`` once all code of an environment is allowed, at once if it names none.

        Args:
            choice: The environment.
            then: Called once it is allowed.
            declined: Called instead with the first module that the user does not allow.
            typed: The user typed the name, which is consent in itself.
            insist: Ask again about modules that the user has declined in this window.
        """
        if not trust.names_code(choice):
            then()
            return
        self._add(
            partial(_examine, choice, typed),
            partial(self._on_examined, then, declined, insist),
        )

    def obtain_all(
        self, choices: Sequence[EnvChoice], then: Then, declined: Declined = _ignore
    ) -> None:
        """Call ``then`` once all code of several environments is allowed, asking one by one."""
        naming = [each for each in choices if trust.names_code(each)]
        if not naming:
            then()
            return
        rest = naming[1:]
        self.obtain(naming[0], lambda: self.obtain_all(rest, then, declined), declined)

    def allow(self, module: LocatedModule, then: Then, declined: Declined, *, insist: bool) -> None:
        """Call ``then`` once the user allows a module that another process needs."""
        self._on_examined(then, declined, insist, _Examined(missing=(module,)))

    def stop(self) -> None:
        """Finish writing, and stop asking: the window is closing."""
        self._closed = True
        self._queue.finish()

    def _add(self, work: Callable[[], _Examined], then: Callable[[_Examined], None]) -> None:
        def pass_on(found: _Examined) -> None:
            if not self._closed:
                then(found)

        self._queue.add(work, pass_on)

    def _on_examined(self, then: Then, declined: Declined, insist: bool, found: _Examined) -> None:
        if found.problem:
            self.refused.emit(found.problem)
        missing = [module for module in found.missing if not allowed_code.is_allowed(module)]
        if not missing:
            then()
            return
        module = missing[0]
        if module in self._declined and not insist:
            declined(module)
            return
        again = partial(self._on_examined, then, declined, insist, found)
        self._dialog(module).answered.connect(
            lambda agreed: self._on_answer(module, agreed, again, declined)
        )

    def _dialog(self, module: LocatedModule) -> ConsentDialog:
        """Return the open dialog about a module; all requests share it."""
        dialog = self._asking.get(module)
        if dialog is None:
            dialog = self._asking[module] = ConsentDialog(module, self._window)
            dialog.answered.connect(lambda _: self._asking.pop(module, None))
            dialog.open()
        return dialog

    def _on_answer(
        self, module: LocatedModule, agreed: bool, again: Callable[[], None], declined: Declined
    ) -> None:
        if self._closed:
            return
        if not agreed:
            self._declined.add(module)
            declined(module)
            return
        self._declined.discard(module)
        # Only after writing: the user sees a failure before anything starts.
        self._add(partial(_remember, module), lambda found: self._go_on(found, again))

    def _go_on(self, found: _Examined, again: Callable[[], None]) -> None:
        if found.problem:
            self.refused.emit(found.problem)
        again()


def _examine(choice: EnvChoice, typed: bool) -> _Examined:
    allowed_code.allow(trust_store.remembered())
    missing = trust.unconsented(choice)
    return _remember(*missing) if typed else _Examined(missing=tuple(missing))


def _remember(*modules: LocatedModule) -> _Examined:
    allowed_code.allow(module.entry for module in modules)
    # If that fails, the consent applies in this window nevertheless.
    return _Examined(problem=outcome_of(partial(trust_store.remember, *modules)).problem)
