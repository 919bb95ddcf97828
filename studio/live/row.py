"""One live setting: its name, its control, its schedule and a button that resets it."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from studio.formatting import format_setting
from studio.live.controls import LiveValue, make_control
from studio.live.schedule_curve import ScheduleCurve
from studio.widgets.controls import enable, set_styled
from studio.widgets.form_area import point_to
from studio.widgets.setting_fields import setting_tip
from td3core.config.piecewise import PiecewiseSchedule
from td3core.config.spec import Spec
from td3core.text import tr


class LiveRow(QWidget):
    """One live setting of any kind."""

    edited = Signal()
    """The user changed the value, and may still be dragging."""
    settled = Signal()
    """The user has finished changing the value."""
    schedule_wanted = Signal()
    """The user wants to enter or change a schedule."""
    reset_wanted = Signal(object)
    """The user wants the initial value or schedule of the row."""

    def __init__(self, name: str, spec: Spec, default: LiveValue) -> None:
        super().__init__()
        self.name, self._spec, self._default = name, spec, default
        self._control = make_control(name, spec, default)
        self._schedule: PiecewiseSchedule | None = None
        self._curve = ScheduleCurve(spec)
        self._curve.setObjectName(f"schedule_{name}")
        self._label = QLabel()
        self._label.setObjectName(f"label_{name}")
        self._label.setTextFormat(Qt.TextFormat.RichText)
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._reset = QToolButton()
        self._reset.setObjectName(f"reset_{name}")
        self._reset.setAccessibleName(tr("{setting} reset", setting=spec.label))
        self._reset.setText("↺")
        self._reset.setProperty("role", "reset")
        self._lay_out()
        self.show_pending(False)
        self.update_width()
        self.show_value(default, None)
        self.set_default(default)
        self._control.edited.connect(self._on_edited)
        self._control.settled.connect(self.settled)
        self._reset.clicked.connect(self._on_reset)

    def _lay_out(self) -> None:
        editor, slider = self._control.editor, self._control.slider
        tip = setting_tip(self.name, self._spec)
        if slider is not None:
            tip += "<br>" + tr("Right-click to let it follow a schedule.")
        self.setToolTip(tip)
        editor.setToolTip(tip)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(0, 1)
        grid.addWidget(self._label, 0, 0)
        if isinstance(editor, QCheckBox):
            # Otherwise the check box would be left-aligned in its column.
            grid.addWidget(editor, 0, 1, Qt.AlignmentFlag.AlignRight)
        else:
            grid.addWidget(editor, 0, 1)
        grid.addWidget(self._reset, 0, 2)
        if slider is not None:
            slider.setToolTip(tip)
            grid.addWidget(slider, 1, 0, 1, 3)
        grid.addWidget(self._curve, 2, 0, 1, 3)

    def update_width(self) -> None:
        """Reserve width for the number, and for the name with its mark while pending."""
        self._control.fit_width()
        shown = self._label.text()
        self._label.setText(f"<b>{self._spec.symbol}&nbsp; {self._spec.label} …</b>")
        self._label.setMinimumWidth(self._label.sizeHint().width())
        self._label.setText(shown)

    def value(self) -> LiveValue:
        """Return the value in use, even if invalid text is shown."""
        return self._control.value()

    def entered(self) -> LiveValue:
        """Return the current value.

        Raises:
            RequestError: the displayed text is not an allowed value.
        """
        return self._control.entered()

    def point_out(self) -> None:
        """Focus the value, with its text selected."""
        point_to(self._control.editor)

    def given(self) -> LiveValue:
        """Return the setting as given: its value, or the text of its schedule."""
        return self.value() if self._schedule is None else self._schedule.text

    @property
    def follows_schedule(self) -> bool:
        """Whether the setting follows a schedule."""
        return self._schedule is not None

    def show_value(self, value: LiveValue, schedule: PiecewiseSchedule | None) -> None:
        """Show a value, and its schedule if there is one, without a signal."""
        self._control.set_value(value)
        self._set_schedule(schedule)

    def show_step(self, value: LiveValue, step: int, steps: int) -> None:
        """Show the position of the setting on its schedule."""
        if self._schedule is not None:
            self._control.follow(value)
            self._curve.show_schedule(self._schedule, step, steps)

    def _set_schedule(self, schedule: PiecewiseSchedule | None) -> None:
        self._schedule = schedule
        text = "" if schedule is None else tr("Schedule: {points}", points=schedule.text)
        self._curve.setToolTip(text)
        self._curve.setAccessibleName(text)
        if schedule is None:
            self._curve.show_schedule(None, 0, 1)
        self._update_reset()

    def set_default(self, default: LiveValue) -> None:
        """Change the value that the reset button restores."""
        self._default = default
        self._update_reset()

    def show_pending(self, pending: bool) -> None:
        """Mark the row until the run has applied the change."""
        spec = self._spec
        name = f"<b>{spec.symbol}</b>&nbsp; {spec.label}" if spec.symbol else str(spec.label)
        self._label.setText(f"{name} …" if pending else name)
        set_styled(self._label, "role", "pending" if pending else "")

    def _update_reset(self) -> None:
        why_not = "" if self.given() != self._default else tr("this is the value")
        tip = tr("Reset to {value}", value=format_setting(self._spec, self._default))
        enable(self._reset, why_not, tip)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802
        """Offer a schedule."""
        if self._control.slider is None:
            super().contextMenuEvent(event)
            return
        menu = QMenu(self)
        followed = self._schedule is not None
        change = menu.addAction(tr("Change schedule…") if followed else tr("Follow a schedule…"))
        change.triggered.connect(self.schedule_wanted)
        if followed:
            end = menu.addAction(tr("End schedule here"))
            end.triggered.connect(self._on_edited)
            end.triggered.connect(self.settled)
        menu.popup(event.globalPos())
        menu.aboutToHide.connect(menu.deleteLater)

    @Slot()
    def _on_edited(self) -> None:
        # A setting changed by the user no longer follows a schedule.
        self._set_schedule(None)
        self.edited.emit()

    @Slot()
    def _on_reset(self) -> None:
        self.reset_wanted.emit(self._default)
