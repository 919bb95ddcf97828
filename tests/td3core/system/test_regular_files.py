"""Text files are read as editors of every platform write them."""

from pathlib import Path

import pytest

from td3core.system.regular_files import parse_toml, read_text


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_a_file_that_an_editor_gave_a_byte_order_mark_is_read_without_it(
    tmp_path: Path, errors: str
) -> None:
    path = tmp_path / "notepad.toml"
    path.write_bytes('\ufeffname = "\ufeffé"\r\n'.encode())
    assert parse_toml(read_text(path, errors=errors)) == {"name": "\ufeffé"}


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(UnicodeDecodeError):
        read_text(path)
