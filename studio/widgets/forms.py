"""What the forms of the window have in common: rows, the names of settings, remarks."""

from PySide6.QtWidgets import QFormLayout, QLabel

from td3core.config.spec import Spec


def make_form() -> QFormLayout:
    """Return an empty form of names and fields, whose fields take the width there is."""
    form = QFormLayout()
    form.setContentsMargins(0, 0, 0, 0)
    form.setHorizontalSpacing(8)
    form.setVerticalSpacing(5)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return form


def setting_label(known: Spec, *, symbol: bool = False) -> QLabel:
    """Return the name of a setting, its explanation in the tooltip."""
    label = QLabel(f"{known.symbol}  {known.label}" if symbol and known.symbol else known.label)
    label.setToolTip(known.help)
    return label


def remark(text: str = "") -> QLabel:
    """Return a label for a sentence that is not as important as what it stands beside."""
    label = QLabel(text)
    label.setWordWrap(True)
    label.setProperty("role", "muted")
    return label
