"""Text files are read as editors of every platform write them."""

import tomllib
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


DOTTED = ".".join(["a"] * 20)


@pytest.mark.parametrize(
    "text",
    [
        f'note = "{DOTTED}"',
        f'note = "\\"{DOTTED}"',
        f"note = '{DOTTED}'",
        f'note = """\n{DOTTED}"""""\nother = 1',
        f"notes = ['''a''''', 'b', {{c = '{DOTTED}'}}]",
        f"# {DOTTED}\nnote = 1 # {DOTTED}",
    ],
)
def test_only_a_key_may_not_have_many_parts(text: str) -> None:
    assert parse_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{DOTTED} = 1",
        f"[{DOTTED}]",
        f"""'b'."c\\"". {DOTTED} = 1""",
        f'note = "\\""\n{DOTTED} = 1',
        f'note = """a"""""\n{DOTTED} = 1',
        f"notes = ['''a''''', 'b', {{{DOTTED} = 1}}]",
        f"note = 1 # it's\n{DOTTED} = 1",
    ],
)
def test_a_key_of_many_parts_is_refused_after_any_text(text: str) -> None:
    tomllib.loads(text)
    with pytest.raises(ValueError, match="more than 16 parts"):
        parse_toml(text)
