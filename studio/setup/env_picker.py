"""Choosing an environment: a searchable list with the properties of each."""

import math
from collections.abc import Iterable
from enum import IntEnum

from PySide6.QtCore import (
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QFocusEvent, QFont, QPainter, QPalette, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.formatting import format_count, format_number
from studio.theme.sizes import scaled
from studio.widgets.model_index import Index
from td3core.config.env_choice import EnvChoice
from td3core.envs.catalogue import KNOWN, KnownEnv, find_known
from td3core.errors import RequestError
from td3core.text import Text, tr

YOURS, OTHERS = Text("Yours"), Text("Other registered")
_MARGIN = 8
_LIST_WIDTH = 380
_ROWS = 12


class Role(IntEnum):
    """Data of a row besides its name."""

    FACTS = Qt.ItemDataRole.UserRole + 1
    SEARCHED = Qt.ItemDataRole.UserRole + 2
    """Name and group, so that a simulator's name finds all its environments; empty for headings."""


def describe_env(
    obs_dim: int,
    act_dim: int,
    max_episode_steps: int | None,
    reward_threshold: float | None,
    *,
    action_repeat: int = 1,
) -> str:
    """Describe an environment, for instance "3 observations · 1 action · 200 steps".

    The steps are those of the agent, each of ``action_repeat`` frames.
    """
    steps = format_count(max_episode_steps or 0)
    if not max_episode_steps:
        length = Text("no time limit")
    elif action_repeat == 1:
        length = Text.counted("{steps} step", "{steps} steps", n=max_episode_steps, steps=steps)
    else:
        length = Text.counted(
            "{steps} step of {frames} frames",
            "{steps} steps of {frames} frames",
            n=max_episode_steps,
            steps=steps,
            frames=action_repeat,
        )
    parts = [
        Text.counted("{n} observation", "{n} observations", n=obs_dim),
        Text.counted("{n} action", "{n} actions", n=act_dim),
        length,
    ]
    if reward_threshold is not None:
        parts.append(Text("solved at {threshold}", threshold=format_number(reward_threshold)))
    return " · ".join(map(str, parts))


def facts_of(known: KnownEnv, action_repeat: int = 1) -> str:
    """Describe a known environment, or how to install it."""
    if not known.installed:
        return tr("Not installed: {command}", command=f"pip install '{known.package}'")
    steps = math.ceil(known.max_episode_steps / action_repeat)
    return describe_env(
        known.obs_dim,
        known.act_dim,
        steps,
        known.reward_threshold,
        action_repeat=action_repeat,
    )


def is_catalogued(env_id: str, args: str) -> bool:
    """Return whether the catalogue describes an environment with these arguments.

    It does if they only repeat the agent's actions.
    """
    try:
        return find_known(env_id) is not None and not EnvChoice(env_id, args).kwargs
    except RequestError:
        return False


class EnvPicker(QComboBox):
    """An editable list of environments by group. Any other name can be typed."""

    opening = Signal()
    """The user is about to see the list."""
    entered = Signal(str)
    """Carries a complete name. One that is being typed has no presets and is not reported."""

    def __init__(self) -> None:
        super().__init__()
        self._described: dict[tuple[str, str], str] = {}
        """By environment and arguments."""
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setMaxVisibleItems(_ROWS)
        delegate = _TwoLines(self)
        model = QStandardItemModel(self)
        self.setModel(model)
        self.setItemDelegate(delegate)
        self.view().setMinimumWidth(scaled(_LIST_WIDTH))
        completer = _Completer(model, self)
        found = completer.popup()
        assert found is not None
        found.setItemDelegate(delegate)
        found.setMinimumWidth(scaled(_LIST_WIDTH))
        self.setCompleter(completer)
        editor = self.lineEdit()
        assert editor is not None
        editor.textEdited.connect(lambda _: self.opening.emit())
        editor.editingFinished.connect(self.commit)
        self.currentTextChanged.connect(self._on_text)
        self._fill((), ())

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        """Select the name when the field is entered: typing replaces it."""
        super().focusInEvent(event)
        editor = self.lineEdit()
        assert editor is not None
        if event.reason() is not Qt.FocusReason.PopupFocusReason:
            # After the click that entered the field, which places the cursor.
            QTimer.singleShot(0, editor, editor.selectAll)

    @Slot()
    def commit(self) -> None:
        """Take the text as complete: a click on a tool button does not take the focus."""
        self.entered.emit(self.currentText())

    def enter(self, env_id: str) -> None:
        """Show a name, also while the user is typing another one."""
        self.setCurrentText(env_id)
        self.commit()

    @Slot(str)
    def _on_text(self, text: str) -> None:
        editor = self.lineEdit()
        if editor is None or not editor.hasFocus() or self.findText(text) >= 0:
            self.commit()

    def show_further(self, own: Iterable[str], others: Iterable[str]) -> None:
        """List further environments after the known ones; the text in the field stays."""
        text, editor = self.currentText(), self.lineEdit()
        assert editor is not None
        position = editor.cursorPosition()
        blocked = self.blockSignals(True)
        self._fill(own, others)
        self.setCurrentText(text)
        editor.setCursorPosition(position)
        self.blockSignals(blocked)

    def showPopup(self) -> None:  # noqa: N802
        """Open the list at the environment named in the field."""
        self.opening.emit()
        row = self.findText(self.currentText(), Qt.MatchFlag.MatchExactly)
        # An index of -1 would clear the field.
        if row >= 0:
            blocked = self.blockSignals(True)
            self.setCurrentIndex(row)
            self.blockSignals(blocked)
        super().showPopup()

    def facts(self, env_id: str, args: str) -> str:
        """Return the description of an environment with arguments, empty if there is none."""
        known = find_known(env_id)
        if known and is_catalogued(env_id, args):
            return facts_of(known, EnvChoice(env_id, args).fewest_repeats)
        described = self._described.get((env_id, args), "")
        if described or known is None:
            return described
        bare = facts_of(known)
        return tr("Without its arguments: {facts}", facts=bare) if known.installed else bare

    def add_facts(self, env_id: str, args: str, facts: str) -> None:
        """Show the description of an environment that the catalogue does not have."""
        self._described[env_id, args] = facts
        row = self.findText(env_id, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive)
        if row >= 0 and not args:
            self.setItemData(row, facts, Role.FACTS)

    def _fill(self, own: Iterable[str], others: Iterable[str]) -> None:
        model = self.model()
        assert isinstance(model, QStandardItemModel)
        model.clear()
        for group in dict.fromkeys(known.group for known in KNOWN):
            members = [known for known in KNOWN if known.group == group]
            rows = [_row(k.env_id, group, facts_of(k), usable=k.installed) for k in members]
            _append(model, group, rows)
        shown = {known.env_id for known in KNOWN}
        for group, names in ((str(YOURS), own), (str(OTHERS), others)):
            fresh = [name for name in dict.fromkeys(names) if name not in shown]
            shown.update(fresh)
            _append(
                model,
                group,
                [_row(name, group, self._described.get((name, ""), "")) for name in fresh],
            )


def _append(model: QStandardItemModel, group: str, rows: list[QStandardItem]) -> None:
    if rows:
        heading = QStandardItem(group)
        heading.setFlags(Qt.ItemFlag.NoItemFlags)
        heading.setData("", Role.SEARCHED)
        for item in (heading, *rows):
            model.appendRow(item)


def _row(env_id: str, group: str, facts: str, *, usable: bool = True) -> QStandardItem:
    item = QStandardItem(env_id)
    item.setData(facts, Role.FACTS)
    item.setData(f"{env_id} {group}", Role.SEARCHED)
    item.setEnabled(usable)
    item.setToolTip("" if usable else facts)
    item.setData(f"{env_id}, {facts}", Qt.ItemDataRole.AccessibleTextRole)
    return item


class _Completer(QCompleter):
    """Finds rows whose name or group contains the text."""

    def __init__(self, model: QStandardItemModel, parent: QWidget) -> None:
        super().__init__(model, parent)
        self.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setFilterMode(Qt.MatchFlag.MatchContains)
        self.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.setCompletionRole(Role.SEARCHED)
        self.setMaxVisibleItems(_ROWS)

    def pathFromIndex(self, index: Index) -> str:  # noqa: N802
        """Complete to the name only, without the group."""
        return str(index.data(Qt.ItemDataRole.DisplayRole))


class _TwoLines(QStyledItemDelegate):
    """Draws a name with its description muted below it, and groups as headings."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one row."""
        self.initStyleOption(option, index)
        name, facts = option.text, str(index.data(Role.FACTS) or "")
        option.text = ""
        style = option.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        heading = not index.data(Role.SEARCHED)
        enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected) and enabled
        roles = QPalette.ColorRole
        strong = roles.HighlightedText if chosen else roles.Text
        weak = roles.HighlightedText if chosen else roles.PlaceholderText
        painter.save()
        area = option.rect.adjusted(_MARGIN + (0 if heading else _MARGIN), 0, -_MARGIN, 0)
        upper = _line(area, option, 0 if facts else None)
        painter.setFont(_bold(option.font) if heading else option.font)
        painter.setPen(option.palette.color(strong if enabled else weak))
        painter.drawText(upper, Qt.AlignmentFlag.AlignVCenter, name)
        if facts:
            painter.setFont(_small(option.font))
            painter.setPen(option.palette.color(weak))
            lower = _line(area, option, 1)
            text = painter.fontMetrics().elidedText(
                facts, Qt.TextElideMode.ElideRight, lower.width()
            )
            painter.drawText(lower, Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """Return the size of one or two lines."""
        lines = 2 if index.data(Role.FACTS) else 1
        return QSize(scaled(_LIST_WIDTH) - 30, lines * (option.fontMetrics.height() + 1) + 7)


def _line(area: QRect, option: QStyleOptionViewItem, number: int | None) -> QRect:
    """Return the rectangle of the upper (0), lower (1) or only (None) line."""
    if number is None:
        return area
    height = option.fontMetrics.height() + 1
    return QRect(area.left(), area.top() + 3 + number * height, area.width(), height)


def _bold(font: QFont) -> QFont:
    bold = QFont(font)
    bold.setBold(True)
    return bold


def _small(font: QFont) -> QFont:
    small = QFont(font)
    # A stylesheet gives sizes in pixels, a desktop in points; only one of them is set.
    if font.pixelSize() > 0:
        small.setPixelSize(max(font.pixelSize() - 2, 9))
    else:
        small.setPointSizeF(max(font.pointSizeF() - 1.0, 7.0))
    return small
