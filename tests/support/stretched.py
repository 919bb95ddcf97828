"""A language that is no language: what is translated is in brackets, and longer."""

import gettext
import re
import string

OPEN, CLOSE, PAD = "⟦", "⟧", "·"
INSIDE = re.compile(rf"{OPEN}[^{OPEN}{CLOSE}]*(?:{CLOSE}|…|$)|…[^{OPEN}{CLOSE}]*{CLOSE}")
"""What is in brackets, as far as it was not cut."""


class Stretched(gettext.NullTranslations):
    """A language that puts brackets around every piece of a template, and needs more room."""

    def gettext(self, message: str) -> str:
        try:
            pieces = list(string.Formatter().parse(message))
        except ValueError:
            return _bracketed(message)
        return "".join(
            _bracketed(written) + ("" if name is None else _field(name, spec or "", conversion))
            for written, name, spec, conversion in pieces
        )

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


def _bracketed(written: str) -> str:
    if not any(map(str.isalpha, written)):
        return written
    return f"{OPEN}{written}{PAD * (2 * len(written) // 5)}{CLOSE}"


def _field(name: str, spec: str, conversion: str | None) -> str:
    return f"{{{name}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}}}"
