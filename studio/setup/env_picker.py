"""Choosing an environment: a searchable list with what each one is like."""

from collections.abc import Iterable
from enum import IntEnum

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPalette, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from td3core.envs.catalogue import KNOWN, KnownEnv, find_known

YOURS, OTHERS = "Yours", "Other registered"
_MARGIN = 8
_LIST_WIDTH = 380
_ROWS = 12

Index = QModelIndex | QPersistentModelIndex


class Role(IntEnum):
    """What a row of the list knows besides its name."""

    FACTS = Qt.ItemDataRole.UserRole + 1
    SEARCHED = Qt.ItemDataRole.UserRole + 2
    """Name and group, so that the name of a simulator finds all it brings; empty for a heading."""


def facts_in_words(
    obs_dim: int, act_dim: int, max_episode_steps: int | None, reward_threshold: float | None
) -> str:
    """Say what an environment is like, for instance "3 observations · 1 action · 200 steps"."""
    parts = [
        f"{obs_dim} observation{'s' * (obs_dim != 1)}",
        f"{act_dim} action{'s' * (act_dim != 1)}",
        f"{max_episode_steps:,} steps" if max_episode_steps else "no time limit",
    ]
    if reward_threshold is not None:
        parts.append(f"solved at {reward_threshold:g}")
    return " · ".join(parts)


def facts_of(known: KnownEnv) -> str:
    """Say what a known environment is like, or what is missing for its use."""
    if not known.installed:
        return f"Not installed: pip install '{known.package}'"
    return facts_in_words(
        known.obs_dim, known.act_dim, known.max_episode_steps, known.reward_threshold
    )


class EnvPicker(QComboBox):
    """An editable list of environments by group. Any other name may be typed as well."""

    wanted = Signal()
    """The list is about to be seen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._learnt: dict[str, str] = {}
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setMaxVisibleItems(_ROWS)
        delegate = _TwoLines(self)
        model = QStandardItemModel(self)
        self.setModel(model)
        self.setItemDelegate(delegate)
        self.view().setMinimumWidth(_LIST_WIDTH)
        completer = _Completer(model, self)
        found = completer.popup()
        assert found is not None
        found.setItemDelegate(delegate)
        found.setMinimumWidth(_LIST_WIDTH)
        self.setCompleter(completer)
        editor = self.lineEdit()
        assert editor is not None
        editor.textEdited.connect(lambda _: self.wanted.emit())
        self._fill((), ())

    def show_further(self, own: Iterable[str], others: Iterable[str]) -> None:
        """List environments beyond the known ones; the text in the field stays."""
        text, editor = self.currentText(), self.lineEdit()
        assert editor is not None
        place = editor.cursorPosition()
        blocked = self.blockSignals(True)
        self._fill(own, others)
        self.setCurrentText(text)
        editor.setCursorPosition(place)
        self.blockSignals(blocked)

    def showPopup(self) -> None:  # noqa: N802
        """Open the list at the environment named in the field."""
        self.wanted.emit()
        row = self.findText(self.currentText(), Qt.MatchFlag.MatchExactly)
        # Without a row the field would be cleared.
        if row >= 0:
            blocked = self.blockSignals(True)
            self.setCurrentIndex(row)
            self.blockSignals(blocked)
        super().showPopup()

    def facts(self, env_id: str) -> str:
        """Return what is known of an environment, in words; empty if nothing is."""
        known = find_known(env_id)
        return facts_of(known) if known else self._learnt.get(env_id, "")

    def learn(self, env_id: str, facts: str) -> None:
        """Show what has been found out about an environment that is not a known one."""
        self._learnt[env_id] = facts
        row = self.findText(env_id, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive)
        if row >= 0:
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
        for group, names in ((YOURS, own), (OTHERS, others)):
            fresh = [name for name in dict.fromkeys(names) if name not in shown]
            shown.update(fresh)
            _append(model, group, [_row(name, group, self._learnt.get(name, "")) for name in fresh])


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
    """Finds what contains the text typed, in the name or in the group's."""

    def __init__(self, model: QStandardItemModel, parent: QWidget) -> None:
        super().__init__(model, parent)
        self.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setFilterMode(Qt.MatchFlag.MatchContains)
        self.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.setCompletionRole(Role.SEARCHED)
        self.setMaxVisibleItems(_ROWS)

    def pathFromIndex(self, index: Index) -> str:  # noqa: N802
        """Put only the name into the field, not what was searched."""
        return str(index.data(Qt.ItemDataRole.DisplayRole))


class _TwoLines(QStyledItemDelegate):
    """Draws a name and, muted below it, what the environment is like; groups as headings."""

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
        """Leave room for one or two lines."""
        lines = 2 if index.data(Role.FACTS) else 1
        return QSize(_LIST_WIDTH - 30, lines * (option.fontMetrics.height() + 1) + 7)


def _line(area: QRect, option: QStyleOptionViewItem, number: int | None) -> QRect:
    """Return the place of the upper (0) or lower (1) line, or of the only one (None)."""
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
