"""Number fields that accept any usual notation and never silently change typed text."""

from PySide6.QtCore import QEvent, QLocale, QPoint
from PySide6.QtGui import QKeyEvent, QKeySequence, QValidator
from PySide6.QtWidgets import QDoubleSpinBox, QToolTip, QWidget

from studio.formatting import format_count, format_value
from studio.widgets.controls import set_styled
from studio.widgets.number_text import read_number
from studio.widgets.slider_scale import from_slider, is_beyond, stepped_beyond, to_slider
from td3core.config.spec import Spec
from td3core.errors import RequestError
from td3core.text import NO_TEXT, SettingName, Text, tr

_DECIMALS = 40
_UNDO, _REDO = QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo
LONGEST = ("0.0009085", "1.235e-05")
"""No number box shows more characters; one of these is the widest."""
_TEXT_MARGIN = 4
"""Pixels."""


class _Entry:
    """Text typed into a box, while it is not an allowed value."""

    def __init__(self, box: "NumberBox", spec: Spec, *, whole: bool) -> None:
        self._box, self._spec, self._whole = box, spec, whole
        self.text = self.reason = ""

    def interpret(self, text: str) -> float:
        """Return the number entered, or mark the text and return the current value."""
        try:
            value = self._read(text)
        except ValueError as problem:
            self._mark(text, str(problem))
            return self._box.value()
        self._mark("", "")
        return value

    def forget(self) -> None:
        """Discard the text: another value was set."""
        self._mark("", "")

    def require_none(self) -> None:
        """Raise if the text is not an allowed value.

        Raises:
            RequestError: with the reason.
        """
        if self.reason:
            setting = self._box.setting
            label = SettingName(setting) if setting else self._box.accessibleName() or tr("Number")
            raise RequestError(
                "{label}: {text} is {reason}.",
                label=label,
                text=self.text or tr("(empty)"),
                reason=self.reason,
            )

    def _read(self, text: str) -> float:
        if self._spec.is_lowest(text):
            return self._box.minimum()
        value = read_number(text, whole=self._whole)
        low, high = self._box.minimum(), self._box.maximum()
        if value < low:
            raise ValueError(Text("below the smallest allowed value, {low}", low=_plain(low)))
        if value > high:
            raise ValueError(Text("above the largest allowed value, {high}", high=_plain(high)))
        return value

    def _mark(self, text: str, reason: str) -> None:
        if (text, reason) == (self.text, self.reason):
            return
        self.text, self.reason = text, reason
        sentence = NO_TEXT
        if reason and text:
            sentence = Text("{text} is {reason}.", text=text, reason=reason)
        elif reason:
            sentence = Text("An empty field is {reason}.", reason=reason)
        mark_problem(self._box, str(sentence))


class NumberBox(QDoubleSpinBox):
    """A box for numbers of any size. It shows as few digits as needed and accepts 3e-4 as well.

    Attributes:
        word: Shown for the smallest value; empty to show the number. Qt's special value text is not
            used, because it would replace invalid text.
        setting: The key of the setting that a refusal names; empty for other numbers.
    """

    def __init__(self, spec: Spec, *, whole: bool) -> None:
        super().__init__()
        self._whole, self._spec = whole, spec
        self._entry = _Entry(self, spec, whole=whole)
        self.word = str(spec.lowest)
        self.setting = ""
        # Qt rounds to this many decimals on every change; all digits of a small rate must survive.
        self.setDecimals(0 if whole else _DECIMALS)
        self.setRange(max(spec.low, -1e12), min(spec.high, 1e12))
        self.setKeyboardTracking(False)
        self.setLocale(QLocale.c())
        # A style sheet cannot give this field the left margin of other fields.
        self.lineEdit().setTextMargins(_TEXT_MARGIN, 0, _TEXT_MARGIN, 0)

    def entered(self) -> float:
        """Return the displayed number.

        Raises:
            RequestError: the displayed text is not an allowed value.
        """
        # The text may not be committed yet: a click on a tool button does not take the focus.
        self.interpretText()
        self._entry.require_none()
        return self.value()

    def event(self, event: QEvent) -> bool:
        """Leave Ctrl+Z to the window, unless the user is typing."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and (event.matches(_UNDO) or event.matches(_REDO))
            and self.lineEdit().text() == self.textFromValue(self.value())
        ):
            event.ignore()
            return False
        return bool(super().event(event))

    def textFromValue(self, value: float) -> str:  # noqa: N802
        """Format a number with as few digits as needed; invalid text stays as typed."""
        if self._entry.reason:
            return self._entry.text
        if self.word and value <= self.minimum():
            return self.word
        return self._format(value)

    def valueFromText(self, text: str) -> float:  # noqa: N802
        """Parse the text entered, or mark it and keep the value.

        The text has fewer digits than the value, which stays unchanged until the text is edited.
        """
        entered, present = self._entry.interpret(text), self.value()
        unedited = not self._entry.reason and text == self.textFromValue(present)
        return present if unedited else entered

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept any typing; the text is parsed once entered."""
        return QValidator.State.Acceptable, text, position

    def setValue(self, value: float) -> None:  # noqa: N802
        """Show a value, replacing invalid text."""
        self._entry.forget()
        super().setValue(value)
        self._show_value(value)

    def follow(self, value: float) -> None:
        """Show a value that changes by itself, unless the user is entering another one."""
        edit = self.lineEdit()
        entering = self.hasFocus() and (edit.isModified() or edit.hasSelectedText())
        if entering or self._entry.reason or value == self.value():
            return
        cursor = edit.cursorPosition()
        self.setValue(value)
        edit.setCursorPosition(cursor)

    def stepBy(self, steps: int) -> None:  # noqa: N802
        """Step by one for whole numbers, else by a hundredth of the slider.

        Beyond the slider it is a hundredth of the value: the slider's end may be far away.
        """
        value, spec = self.value(), self._spec
        if self._whole:
            self.setValue(value + steps)
        elif is_beyond(spec, value):
            self.setValue(stepped_beyond(spec, value, steps))
        else:
            at = min(max(to_slider(spec, value, 100) + steps, 0), 100)
            self.setValue(from_slider(spec, at, 100))

    def _format(self, value: float) -> str:
        return f"{value:.0f}" if self._whole else _short(value)

    def _show_value(self, _: float) -> None:
        # Setting the current value again would not replace invalid text.
        self.lineEdit().setText(self.textFromValue(self.value()))


class WholeNumberBox(NumberBox):
    """A box for whole numbers, with thousands separators and perhaps a word for the smallest."""

    def __init__(self, low: float, high: float, word: Text = NO_TEXT) -> None:
        super().__init__(
            Spec(label=NO_TEXT, help=NO_TEXT, low=low, high=high, lowest=word), whole=True
        )
        self.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)

    def value(self) -> int:
        """Return the number."""
        return int(super().value())

    def entered(self) -> int:
        """Return the displayed number.

        Raises:
            RequestError: the displayed text is not an allowed value.
        """
        return int(super().entered())

    def stepBy(self, steps: int) -> None:  # noqa: N802
        """Step from the value by a tenth of its magnitude, even if invalid text is shown."""
        self._entry.forget()
        QDoubleSpinBox.stepBy(self, steps)

    def _format(self, value: float) -> str:
        return format_count(value)


def mark_problem(field: QWidget, sentence: str) -> None:
    """Mark a field as invalid and show why below it; an empty sentence removes the mark."""
    set_styled(field, "invalid", bool(sentence))
    field.setAccessibleDescription(sentence)
    if sentence and field.isVisible():
        QToolTip.showText(field.mapToGlobal(QPoint(0, field.height())), sentence, field)


def _short(value: float) -> str:
    """Format a number in up to six digits, fewer where it would be too long."""
    room = len(LONGEST[0])
    texts = (f"{value:.{digits}g}" for digits in (6, 5, 4))
    return next((text for text in texts if len(text) <= room), f"{value:.3g}")


def _plain(value: float) -> str:
    whole = value == int(value) and abs(value) < 1e15
    return format_value(int(value) if whole else value)
