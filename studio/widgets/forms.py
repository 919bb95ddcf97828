"""The building blocks of forms: rows, labels of settings, remarks."""

from PySide6.QtWidgets import QFormLayout, QLabel

from td3core.config.spec import Spec


def make_form() -> QFormLayout:
    """Return an empty form whose fields take all the width there is."""
    form = QFormLayout()
    form.setContentsMargins(0, 0, 0, 0)
    form.setHorizontalSpacing(8)
    form.setVerticalSpacing(5)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return form


def setting_label(known: Spec, *, symbol: bool = False) -> QLabel:
    """Return a label with the name of a setting and its help as tooltip."""
    label = QLabel(
        f"{known.symbol}  {known.label}" if symbol and known.symbol else str(known.label)
    )
    label.setToolTip(str(known.help))
    return label


def keep_lines(label: QLabel, lines: int) -> None:
    """Keep room for so many lines, also while there are fewer: what is below stays where it is."""
    label.ensurePolished()
    label.setMinimumHeight(lines * label.fontMetrics().lineSpacing())


def remark(text: str = "") -> QLabel:
    """Return a muted label for secondary text."""
    label = QLabel(text)
    label.setWordWrap(True)
    label.setProperty("role", "muted")
    return label
