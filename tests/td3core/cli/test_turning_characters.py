"""What a stranger wrote turns no text around, wherever it is shown."""

import unicodedata

import pytest

from td3core.cli.terminal import printable
from td3core.exporters.report.page import escaped

CLASSES = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Of Unicode's algorithm for text of both directions; its marks have those of letters."""
TURNING = [
    *(char for char in map(chr, range(0x110000)) if unicodedata.bidirectional(char) in CLASSES),
    *"\u061c\u200e\u200f",
]


@pytest.mark.parametrize("char", TURNING, ids=ascii)
def test_a_terminal_and_a_page_show_none_of_them(char: str) -> None:
    assert printable(f"a{char}b") == f"a{ascii(char)[1:-1]}b"
    assert escaped(f"a{char}b") == "ab"
