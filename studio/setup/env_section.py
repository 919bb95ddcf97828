"""The part of Setup that names the environment, says what it is like, and lets it be tried."""

from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from studio.setup.env_check_dialog import EnvCheckDialog
from studio.setup.env_picker import EnvPicker, facts_in_words
from studio.setup.env_query import EnvQuery
from studio.theme.theme import Theme
from studio.widgets.labels import breakable, plain_label
from td3core.envs.catalogue import find_known

_REMEMBERED = 12
_NOTHING = ("", "")


class EnvSection(QWidget):
    """The list of environments, what the chosen one is like, and the check.

    ``facts`` is to be placed by whoever shows this, where there is room for a sentence.
    """

    remembered_changed = Signal(object)
    sizes_changed = Signal()

    def __init__(self, args: Callable[[], str], parent: QWidget | None = None) -> None:
        """Take ``args``, which returns the environment arguments in the form."""
        super().__init__(parent)
        self._args = args
        self._remembered: list[str] = []
        self._of_presets: list[str] = []
        self._others: list[str] | None = None
        self.picker = EnvPicker()
        self._button = QToolButton()
        self._button.setObjectName("env_check_button")
        self._button.setProperty("role", "small")
        self._button.setAccessibleName("Environment check")
        self._button.setToolTip("Environment check: try it for a moment and say what is odd")
        self._button.setIconSize(QSize(18, 18))
        self.facts = plain_label()
        self.facts.setObjectName("env_facts")
        self.facts.setProperty("role", "muted")
        self.facts.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._dialog = EnvCheckDialog(self)
        self._check, self._look = EnvQuery(self), EnvQuery(self)
        self._asked = _NOTHING
        self._sizes: dict[str, tuple[int, int]] = {}
        self._build()
        self._connect()

    def _build(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(self.picker, 1)
        row.addWidget(self._button)

    def _connect(self) -> None:
        self._button.clicked.connect(self.check)
        self._check.answered.connect(self._dialog.show_answer)
        self._check.refused.connect(self._dialog.show_refusal)
        self._dialog.dismissed.connect(self._check.cancel)
        self._look.answered.connect(self._on_looked)
        self._look.refused.connect(self._on_refused)
        self.picker.currentTextChanged.connect(self._show_facts)
        # Only what a person chose: a script, or a preset somebody sent, makes no environment.
        self.picker.activated.connect(self.look)
        self.picker.wanted.connect(self._list_others)
        editor = self.picker.lineEdit()
        assert editor is not None
        editor.editingFinished.connect(self.look)

    @property
    def env_id(self) -> str:
        """The name in the field."""
        return self.picker.currentText().strip()

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Numbers of observations and of actions, if they are known."""
        known = find_known(self.env_id)
        looked_up = self._sizes.get(self.env_id)
        return looked_up or ((known.obs_dim, known.act_dim) if known else None)

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self._button.setIcon(theme.icon("clipboard-check-outline", theme.muted))
        self._dialog.set_theme(theme)

    def show_environments(self, of_presets: Iterable[str]) -> None:
        """List what can be chosen; ``of_presets`` are environments a person has presets for."""
        self._of_presets = [env_id for env_id in of_presets if env_id]
        self.picker.show_further([*self._remembered, *self._of_presets], self._others or ())

    @Slot()
    def _list_others(self) -> None:
        """List what other packages have registered as well, once the list is to be seen."""
        if self._others is None:
            # Not at the top: Gymnasium would add to the time that the window takes to show.
            from td3core.envs.make import registered_elsewhere

            self._others = sorted(registered_elsewhere())
            # Filling the list closes it under the hand of a person who has begun to type.
            if self._others:
                self.show_environments(self._of_presets)

    def show_remembered(self, env_ids: Iterable[str]) -> None:
        """List environments that were trained on before, the latest first."""
        self._remembered = [str(each) for each in env_ids][:_REMEMBERED]
        self.show_environments(self._of_presets)

    def remember(self, env_id: str) -> None:
        """Offer an environment from now on, if it is not offered anyway."""
        if find_known(env_id) is None and self._remembered[:1] != [env_id]:
            kept = [each for each in self._remembered if each != env_id]
            self.show_remembered([env_id, *kept])
            self.remembered_changed.emit(list(self._remembered))

    @Slot()
    def check(self) -> None:
        """Try the environment and show what was found."""
        self._dialog.show_waiting(self.env_id or "No environment is named")
        self._dialog.show()
        self._dialog.raise_()
        if self.env_id:
            self._check.ask(self.env_id, self._args(), quick=False)
        else:
            self._dialog.show_refusal("Name an environment first.")

    @Slot()
    def look(self) -> None:
        """Find out what an environment is like that is not known, or is made otherwise."""
        env_id, args = self.env_id, self._args().strip()
        if not env_id or (find_known(env_id) and not args):
            self._forget()
            self._show_facts()
        elif self._asked != (env_id, args):
            self._asked = (env_id, args)
            self.facts.setText("Looking …")
            self.facts.show()
            self._look.ask(env_id, args, quick=True)

    def close_helpers(self) -> None:
        """End the processes that may still be trying something."""
        self._check.cancel()
        self._look.cancel()

    def _forget(self) -> None:
        self._look.cancel()
        self._asked = _NOTHING

    @Slot()
    def _show_facts(self) -> None:
        if self._asked[0] != self.env_id:
            # What is still being found out is of no use for another one.
            self._forget()
        facts = self.picker.facts(self.env_id)
        self.facts.setText(facts)
        self.facts.setVisible(bool(facts))

    @Slot(object)
    def _on_looked(self, answer: dict[str, Any]) -> None:
        sizes = ("obs_dim", "act_dim", "max_episode_steps", "reward_threshold")
        facts = facts_in_words(*(answer[name] for name in sizes))
        self._sizes[self.env_id] = (answer["obs_dim"], answer["act_dim"])
        self.sizes_changed.emit()
        if not answer["env_args"]:
            self.picker.learn(self.env_id, facts)
        odd = answer["errors"] + answer["warnings"]
        self.facts.setText(f"{facts}. The check found something odd." if odd else facts)

    @Slot(str)
    def _on_refused(self, sentence: str) -> None:
        self.facts.setText(breakable(sentence))
