"""The environment in Setup: its name, its properties, and a button to check it."""

from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from studio.consent.code_consent import CodeConsent
from studio.setup.env_check_dialog import EnvCheckDialog
from studio.setup.env_file import BrowseButton
from studio.setup.env_picker import EnvPicker, describe_env, is_catalogued
from studio.setup.env_query import EnvQuery
from studio.setup.recent_environments import RecentEnvironments
from studio.theme.theme import Theme
from studio.widgets.controls import set_styled
from studio.widgets.labels import breakable, plain_label
from studio.widgets.setting_names import in_labels
from td3core.config.env_choice import EnvChoice
from td3core.config.networks import Sizes
from td3core.envs import trust
from td3core.envs.catalogue import find_known
from td3core.errors import RequestError
from td3core.system.allowed_code import LocatedModule
from td3core.text import Text, tr

_NOTHING = ("", "")
NAME_FIRST = Text("Enter the name of an environment first.")


class EnvSection(QWidget):
    """The list of environments with the check button.

    The label ``facts`` describes the chosen environment; it is in ``below``, with a button to
    choose a file, which the form places.
    """

    sizes_changed = Signal()

    def __init__(
        self, args: Callable[[], str], recent: RecentEnvironments, consent: CodeConsent
    ) -> None:
        """Take ``args``, which returns the environment arguments in the form."""
        super().__init__()
        self._args, self._recent, self._consent = args, recent, consent
        self._of_files: set[str] = set()
        self._of_presets: list[str] = []
        self._others: list[str] | None = None
        self.picker = EnvPicker()
        self._button = QToolButton()
        self._button.setObjectName("env_check_button")
        self._button.setProperty("role", "small")
        self._button.setAccessibleName(tr("Environment check"))
        self._button.setToolTip(
            tr("Check the environment: take some random steps and report problems")
        )
        self._button.setProperty("icon_px", 18)
        self._browse = BrowseButton()
        self.facts = plain_label()
        self.facts.setObjectName("env_facts")
        self.facts.setProperty("role", "muted")
        self.facts.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._dialog = EnvCheckDialog(self)
        self._check, self._lookup = EnvQuery(self), EnvQuery(self)
        self._asked = self._checked = self._described = _NOTHING
        self._has_problems = False
        self._sizes: dict[tuple[str, str], Sizes] = {}
        """By environment and arguments."""
        self._build()
        self._connect()

    def _build(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(self.picker, 1)
        row.addWidget(self._button)
        # Next to the picker, the button would take space from the environment's name.
        self.below = QHBoxLayout()
        self.below.setSpacing(2)
        self.below.addWidget(self.facts, 1)
        self.below.addWidget(self._browse, 0, Qt.AlignmentFlag.AlignTop)

    def _connect(self) -> None:
        self._button.clicked.connect(self.check)
        self._browse.chosen.connect(self._use_file)
        self._browse.refused.connect(self._on_refused)
        self._check.answered.connect(self._on_checked)
        self._check.refused.connect(self._dialog.show_refusal)
        self._dialog.dismissed.connect(self._check.cancel)
        self._lookup.answered.connect(self._on_looked_up)
        self._lookup.refused.connect(self._on_not_made)
        self.picker.currentTextChanged.connect(self.show_facts)
        # Only what the user has chosen: neither a script nor an imported preset may create an
        # environment.
        self.picker.activated.connect(self.look_up)
        self.picker.opening.connect(self._list_others)
        editor = self.picker.lineEdit()
        assert editor is not None
        editor.editingFinished.connect(self.look_up)

    @property
    def env_id(self) -> str:
        """The name in the field."""
        return self.picker.currentText().strip()

    @property
    def _shown(self) -> tuple[str, str]:
        """Environment and arguments in the form."""
        return self.env_id, self._args().strip()

    @property
    def sizes(self) -> Sizes | None:
        """Observation and action dimensions, if known."""
        known = find_known(self.env_id)
        looked_up = self._sizes.get(self._shown)
        return looked_up or (Sizes(known.obs_dim, known.act_dim) if known else None)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._browse.set_theme(theme)
        self._button.setIcon(theme.icon("clipboard-check-outline", theme.muted))
        self._dialog.set_theme(theme)

    def show_environments(self, of_presets: Iterable[str]) -> None:
        """List the environments to choose from, including those with presets."""
        self._of_presets = [env_id for env_id in of_presets if env_id]
        for env_id in self._of_presets:
            self.note_file(EnvChoice(env_id))
        self.picker.show_further([*self._recent, *self._of_presets], self._others or ())

    @Slot()
    def _list_others(self) -> None:
        """Add environments registered by other packages, once the user opens the list."""
        if self._others is None:
            # Imported late: Gymnasium would delay the start of the window.
            from td3core.envs.make import registered_elsewhere

            self._others = sorted(registered_elsewhere())
            # Refilling the list closes it while the user is typing.
            if self._others:
                self.show_environments(self._of_presets)

    def remember(self, env_id: str) -> None:
        """Offer an environment from now on; an earlier fault in it may have been corrected."""
        if self._recent.add(env_id):
            self.show_environments(self._of_presets)
        if self._has_problems and env_id == self.env_id:
            self.look_up()

    @Slot(list)
    def _use_file(self, env_ids: list[str]) -> None:
        """Choose the first environment of a file, and offer all of them."""
        for env_id in reversed(env_ids):
            self.remember(env_id)
        self.picker.enter(env_ids[0])
        self._forget()
        self.look_up()

    @Slot()
    def check(self) -> None:
        """Check the environment and show the findings."""
        self.picker.commit()
        # An earlier check would answer while the user is asked about code, or without a name.
        self._check.cancel()
        self._dialog.show_waiting(self.env_id or tr("No environment"))
        self._dialog.show()
        self._dialog.raise_()
        self._checked = self._shown
        if self.env_id:
            self.examine(self._check, self._dialog.show_refusal, quick=False)
        else:
            self._dialog.show_refusal(NAME_FIRST)

    @Slot()
    def look_up(self) -> None:
        """Look up an environment that the catalogue does not describe as it is in the form."""
        if not self.env_id or is_catalogued(*self._shown):
            self._describe()
            self.sizes_changed.emit()
        elif self._asked != self._shown:
            self._asked = self._described = self._shown
            self._say(tr("Examining …"))
            self.examine(self._lookup, self._on_refused, quick=True)

    def note_file(self, choice: EnvChoice) -> None:
        """Note that a file names this environment, so that its code needs the user's consent."""
        self._of_files.update(trust.modules_named(choice))

    def is_typed(self, choice: EnvChoice) -> bool:
        """Return whether all code of an environment was named by the user, none by a file."""
        return self._of_files.isdisjoint(trust.modules_named(choice))

    def ask_by_hand(self, query: EnvQuery, refuse: Callable[[Text], None]) -> None:
        """Examine the environment at the user's request."""
        self.picker.commit()
        if self.env_id:
            self.examine(query, refuse, quick=True, insist=True)
        else:
            refuse(NAME_FIRST)

    def examine(
        self,
        query: EnvQuery,
        refuse: Callable[[Text], None],
        *,
        quick: bool,
        insist: bool | None = None,
    ) -> None:
        """Examine the environment; if a file names its code, only after the user allows it."""
        env_id, args = self.env_id, self._args()

        def ask() -> None:
            if (env_id, args) == (self.env_id, self._args()):
                query.ask(env_id, args, quick=quick)

        try:
            choice = EnvChoice(env_id, args)
        except RequestError as problem:
            query.cancel()
            refuse(problem.message)
            return
        if self.is_typed(choice):
            ask()
            return

        def refuse_code(module: LocatedModule) -> None:
            declined = Text(
                "Not examined: the code in {path} was not allowed to run.", path=module.path
            )
            refuse(declined)

        # By default, only a full check asks again about code that the user has declined.
        self._consent.obtain(
            choice, ask, refuse_code, insist=not quick if insist is None else insist
        )

    def shutdown(self) -> None:
        """End the processes that still examine environments."""
        self._check.cancel()
        self._lookup.cancel()

    def _forget(self) -> None:
        self._lookup.cancel()
        self._asked = _NOTHING
        self._has_problems = False

    @Slot()
    def show_facts(self) -> None:
        """Describe what is in the form, as far as that is known without making it."""
        if self._described != self._shown:
            self._describe()

    def _describe(self) -> None:
        # A pending answer is for another environment, or for other arguments.
        self._forget()
        self._described = self._shown
        self._say(self.picker.facts(*self._shown))

    @Slot(object)
    def _on_looked_up(self, answer: dict[str, Any]) -> None:
        names = ("obs_dim", "act_dim", "max_episode_steps", "reward_threshold")
        repeat = EnvChoice(*self._asked).fewest_repeats
        facts = describe_env(*(answer[name] for name in names), action_repeat=repeat)
        self._sizes[self._asked] = Sizes(answer["obs_dim"], answer["act_dim"])
        self.sizes_changed.emit()
        self.picker.add_facts(*self._asked, facts)
        self._has_problems = answer["errors"] + answer["warnings"] > 0
        if self._has_problems:
            # Its code may have been corrected meanwhile: the same name is examined again.
            self._asked = _NOTHING
            facts = tr("{facts}. The check found problems.", facts=facts)
        self._say(facts)

    @Slot(object)
    def _on_checked(self, answer: dict[str, Any]) -> None:
        self._dialog.show_answer(answer)
        if self._shown == self._checked and not is_catalogued(*self._shown):
            self._lookup.cancel()
            self._asked = self._described = self._shown
            self._on_looked_up(answer)

    @Slot(object)
    def _on_not_made(self, sentence: Text) -> None:
        self._has_problems, self._asked = True, _NOTHING
        self._on_refused(sentence)

    @Slot(object)
    def _on_refused(self, sentence: Text) -> None:
        self._say(breakable(in_labels(sentence)), problem=True)

    def _say(self, text: str, *, problem: bool = False) -> None:
        self.facts.setText(text)
        set_styled(self.facts, "role", "problem" if problem else "muted")
