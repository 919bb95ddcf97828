"""One piece of advice: the problem, the remedy, and buttons to try or dismiss it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from studio.formatting import format_count, format_number, format_setting
from studio.widgets.controls import enable, make_button, make_row
from studio.widgets.labels import plain_label
from td3core.analysis.advice import Advice, SettingChange
from td3core.config import RunConfig, Tunables, specs
from td3core.text import Text, tr


class AdviceCard(QWidget):
    """Shows one piece of advice; the panel handles its buttons."""

    tried = Signal(object)
    """Carries the :class:`Advice`."""
    dismissed = Signal(object)

    def __init__(self, advice: Advice) -> None:
        super().__init__()
        name = advice.rule.name
        self.setObjectName(f"advice_{name}")
        self.advice = advice
        title = plain_label(str(advice.rule.title))
        title.setProperty("role", "title")
        text = plain_label(str(advice.text))
        self._numbers = plain_label()
        self._numbers.setProperty("role", "muted")
        self._numbers.setToolTip(f"<qt>{advice.rule.reason}</qt>")
        for label in (title, text, self._numbers):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        tip = tr("Train branches with and without this change, and compare them")
        self.try_button = make_button(f"try_{name}", tr("Try it…"), tip)
        tip = tr("Do not show this advice again for this run")
        self.dismiss_button = make_button(f"dismiss_{name}", tr("Dismiss"), tip)
        self.try_button.clicked.connect(lambda: self.tried.emit(self.advice))
        self.dismiss_button.clicked.connect(lambda: self.dismissed.emit(self.advice))
        row = make_row(self.try_button, self.dismiss_button)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 4, 6, 8)
        layout.setSpacing(3)
        for label in (title, text, self._numbers):
            layout.addWidget(label)
        layout.addLayout(row)
        self.update_advice(advice, "")

    def update_advice(self, advice: Advice, obstacle: str) -> None:
        """Show the newest numbers; ``obstacle``: why it cannot be tried now."""
        self.advice = advice
        since = tr(
            "{value} since step {step}; {bound}",
            value=format_number(advice.value),
            step=format_count(advice.env_steps),
            bound=_bound(advice),
        )
        change = advice.change
        suggested = "" if change is None else tr("Suggested: {change}", change=in_words(change))
        self._numbers.setText("\n".join(filter(None, (since, suggested))))
        already = tr("the setting has that value already")
        enable(self.try_button, obstacle if change is not None else already)


def _bound(advice: Advice) -> str:
    bound = format_number(advice.rule.threshold)
    if advice.rule.is_upper:
        return tr("healthy is at most {bound}", bound=bound)
    return tr("healthy is at least {bound}", bound=bound)


def in_words(change: SettingChange) -> Text:
    """Return a change in the window's notation."""
    known = (dict(specs(Tunables)) | dict(specs(RunConfig)))[change.setting]
    return Text(
        "{label} {old} → {new}",
        label=str(known.label),
        old=format_setting(known, change.old),
        new=format_setting(known, change.new),
    )
