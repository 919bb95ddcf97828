"""Asks for the settings of a branch: a new run from a saved agent."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import format_count, format_setting
from studio.widgets.controls import describe
from studio.widgets.forms import (
    ProblemLabel,
    make_dialog_column,
    make_form,
    resize_within_screen,
    setting_label,
)
from studio.widgets.labels import breakable, plain_label, shortened, title_label
from studio.widgets.setting_fields import Field, guard_wheel, make_field
from td3core.checkpoint import Header
from td3core.config import RunConfig, Tunables, check_together, specs
from td3core.config.algorithms import unused_by
from td3core.config.spec import Spec
from td3core.errors import RequestError
from td3core.runs.branching import branch_settings
from td3core.runs.resumption import FIXED_BY_CHECKPOINT
from td3core.text import Text, tr

_SIZE = (470, 600)
_LEFT_AS_IT_IS = ("preset",)


class When(StrEnum):
    """When a branch starts, if something else is training."""

    QUEUED = "queued"
    BESIDE = "beside"


_WHEN = {
    When.QUEUED: Text("after the current training"),
    When.BESIDE: Text("now, in a process of its own"),
}


class BranchDialog(QDialog):
    """All settings of a saved agent's run: those that a branch may change, and fixed ones."""

    def __init__(
        self,
        path: Path,
        header: Header,
        parent: QWidget | None = None,
        *,
        occupied: bool = False,
    ) -> None:
        """Offer a branch; if the window is ``occupied``, it cannot start right away."""
        super().__init__(parent)
        self._path, self._header = path, header
        self._unused = unused_by(header.config.algorithm)
        self._fields: dict[str, tuple[Field, Any]] = {}
        self.setObjectName("branch_dialog")
        self.setWindowTitle(tr("Branch from here"))
        resize_within_screen(self, *_SIZE)
        layout = make_dialog_column(self)
        layout.addWidget(self._about())
        layout.addLayout(self._length())
        layout.addWidget(self._settings(), 1)
        self._when: QComboBox | None = None
        if occupied:
            layout.addLayout(self._choice_of_time())
        self.problem = ProblemLabel("branch_problem")
        layout.addWidget(self.problem)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        train = buttons.addButton(tr("Train"), QDialogButtonBox.ButtonRole.AcceptRole)
        train.setObjectName("branch_train_button")
        train.setDefault(True)
        buttons.accepted.connect(self._check)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)
        guard_wheel(self)

    def _about(self) -> QLabel:
        path, reached = self._path, self._header.counters.env_steps
        return plain_label(
            tr(
                "This starts a new run of {env} from {checkpoint}, at step {step}."
                " The parent run is not changed.",
                env=breakable(self._header.config.env),
                checkpoint=shortened(path.name),
                step=format_count(reached),
            )
        )

    def _length(self) -> QFormLayout:
        form = make_form()
        known = dict(specs(RunConfig))["steps"]
        config, reached = self._header.config, self._header.counters.env_steps
        self._add(form, "steps", known, config.steps)
        if config.steps <= reached:
            self._fields["steps"][0].write(2 * reached)
        return form

    def _choice_of_time(self) -> QFormLayout:
        form = make_form()
        self._when = QComboBox()
        tip = tr("Something else trains in this window")
        describe(self._when, "branch_when", tr("Start"), tip)
        for when, text in _WHEN.items():
            self._when.addItem(str(text), when.value)
        form.addRow(tr("Start"), self._when)
        return form

    @property
    def when(self) -> When | None:
        """When to start it; None if nothing else is training."""
        return None if self._when is None else When(self._when.currentData())

    def _settings(self) -> QScrollArea:
        page = QWidget()
        page.setObjectName("form_page")
        page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(10, 8, 14, 8)
        layout.setSpacing(6)
        for title, values, settings in (
            (tr("Live settings"), self._header.tunables, specs(Tunables)),
            (tr("Settings of the run"), self._header.config, _changeable()),
        ):
            layout.addWidget(title_label(title))
            form = make_form()
            for name, known in settings:
                if name not in self._unused:
                    self._add(form, name, known, getattr(values, name))
            layout.addLayout(form)
        layout.addWidget(title_label(tr("Fixed by the checkpoint")))
        layout.addLayout(self._fixed())
        layout.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(page)
        return area

    def _add(self, form: QFormLayout, name: str, known: Spec, value: Any) -> None:
        field = make_field(name, known, value)
        field.widget.setObjectName(f"branch_{name}")
        form.addRow(setting_label(known, symbol=True), field.widget)
        # The widget's value, to detect edits: a box may round.
        self._fields[name] = (field, field.read())

    def _fixed(self) -> QFormLayout:
        form = make_form()
        for name, known in specs(RunConfig):
            if name in FIXED_BY_CHECKPOINT and name not in self._unused:
                text = format_setting(known, getattr(self._header.config, name)) or tr("none")
                value = plain_label(breakable(text))
                value.setProperty("role", "muted")
                label = setting_label(known)
                label.setProperty("role", "muted")
                form.addRow(label, value)
        return form

    def values(self) -> dict[str, Any]:
        """Return the settings that differ from the agent's own.

        Raises:
            RequestError: a field has an invalid value.
        """
        read = {name: field.read() for name, (field, _) in self._fields.items()}
        return {name: value for name, value in read.items() if value != self._fields[name][1]}

    @Slot()
    def _check(self) -> None:
        """Accept only settings that are valid for a branch."""
        try:
            check_together(*branch_settings(self._path, self._header, self.values()))
        except RequestError as problem:
            self.problem.refuse(problem)
            return
        self.accept()


def _changeable() -> Iterator[tuple[str, Spec]]:
    for name, known in specs(RunConfig):
        if name not in (*FIXED_BY_CHECKPOINT, *_LEFT_AS_IT_IS, "steps"):
            yield name, known
