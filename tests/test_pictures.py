"""Every picture is shown somewhere, and how to take it again is written down."""

import ast

from tests import pictures
from tests.pictures.__main__ import drawn_otherwise, pictures_of
from tests.test_documents import DOCUMENTS, ROOT, links

FILES = {path.name for path in (ROOT / "resources" / "pictures").iterdir()}


def test_every_picture_is_taken_by_the_script_or_named_there_with_its_command() -> None:
    taken = [f"{name}.png" for names in pictures_of().values() for name in names]
    assert sorted([*taken, *drawn_otherwise()]) == sorted(FILES)


def test_each_module_takes_the_pictures_that_the_script_names() -> None:
    (folder,) = pictures.__path__
    for module, names in pictures_of().items():
        tree = ast.parse((ROOT / folder / f"{module}.py").read_text("utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        taking = [call for call in calls if ast.unparse(call.func) in ("by.take", "by.keep")]
        assert sorted(call.args[0].value for call in taking) == sorted(names), module


def test_every_picture_is_shown_by_a_page() -> None:
    shown = {link.rpartition("/")[2] for path in DOCUMENTS for link in links(path)}
    assert shown >= FILES
