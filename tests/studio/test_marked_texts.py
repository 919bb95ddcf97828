"""Every text that the window shows is marked, so that it can be translated."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

MAKERS = {"tr", "Text", "counted"}
CARRIERS = {"Message", "MessageError", "RequestError", "RunError"}
"""Take a template, as the makers of texts do."""
SHOWN: dict[str, tuple[int, ...]] = {
    # Qt.
    **dict.fromkeys(
        (
            *("setText", "setToolTip", "setStatusTip", "setWhatsThis", "setWindowTitle"),
            *("setAccessibleName", "setAccessibleDescription", "setPlaceholderText"),
            *("setTitle", "setInformativeText", "setDetailedText", "setSpecialValueText"),
            *("setPrefix", "setSuffix", "setLabelText", "setHeaderLabels", "QLabel", "QAction"),
            *("QPushButton", "QCheckBox", "QRadioButton", "QGroupBox", "QDockWidget", "QMenu"),
            *("addAction", "addButton", "addItem", "addMenu", "addRow", "addTab", "addLabel"),
        ),
        (0,),
    ),
    **dict.fromkeys(("setLabel", "setItemText", "insertRow", "insertTab"), (1,)),
    **dict.fromkeys(("getOpenFileName", "getOpenFileNames", "getSaveFileName"), (1, 3)),
    **dict.fromkeys(("getText", "question", "warning", "information", "critical"), (1, 2)),
    # The window's own.
    **dict.fromkeys(("remark", "plain_label", "Collapsible", "show_status", "show_hint"), (0,)),
    **dict.fromkeys(("show_text", "breakable", "plain_tip"), (0,)),
    **dict.fromkeys(("enable", "retip", "choose_file", "make_export_button"), (1,)),
    "add_choice": (1, 2),
    **dict.fromkeys(("make_button", "make_icon_button", "make_narrow_combo"), (1, 2)),
    **dict.fromkeys(("ask", "choose", "describe"), (2, 3)),
    "show_message": (1, 2),
    "add_number": (1, 6, 7),
}
"""Arguments that are shown, by the function that takes them."""
SHOWN_KEYWORDS = {"title", "text", "tip", "help", "label", "empty", "about", "caption", "unit"}
NOT_SHOWN = {"setObjectName", "setProperty", "setStyleSheet", "getattr", "hasattr", "TypeVar"}
TECHNICAL = {"log", "re", "stderr"}
"""What takes words for no reader of the window: the log file, patterns, the terminal."""
ALLOWED = {
    ("plots/compare/table.py", "P("): "a formula",
    ("plots/run/grid.py", "x"): "the axis",
    ("window/main_window.py", "TD3 Studio"): "the program",
    ("window/toolbar.py", " – TD3 Studio"): "the program",
    ("window/toolbar.py", "TD3 Studio"): "the program",
    ("window/preferences/notifier.py", "TD3 Studio"): "the program",
    ("window/crash_reporter.py", "In the thread :\n"): "details of a bug report",
    ("setup/env_picker.py", "pip install ''"): "a command",
    ("window/preferences/event_files.py", 'pip install "td3-studio[tensorboard]"'): "a command",
    ("setup/fixed_fields.py", '{"xml_file": "/path/to/ant.xml"}'): "an example of JSON",
}
"""Literals that are shown or read like a text, and why they stay as they are."""

_SENTENCE = re.compile(r"[^\W\d_]{2,}[,:;.]? [^\W\d_]{2,}")
_STYLE = re.compile(r"[\w-]+: [^;{}]+;")
"""A property of a style sheet."""
_MARKUP = re.compile(r"<[^>]*>|&\w+;")


def name_of(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def letters_of(node: ast.expr) -> str:
    """Return what is written in a literal besides markup and values; empty without a letter."""
    match node:
        case ast.Constant(value=str(text)):
            written = text
        case ast.JoinedStr(values=parts):
            written = "".join(p.value for p in parts if isinstance(p, ast.Constant))
        case _:
            return ""
    written = _MARKUP.sub("", written)
    return written if any(map(str.isalpha, written)) else ""


def literals_in(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the literals that an expression may have as its value."""
    match node:
        case ast.Constant() | ast.JoinedStr():
            yield node
        case ast.IfExp(body=one, orelse=other):
            yield from (*literals_in(one), *literals_in(other))
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from literals_in(part)
        case ast.BinOp(left=left, right=right):
            yield from (*literals_in(left), *literals_in(right))
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "join")):
            yield from literals_in(value)


def fields_of(template: str) -> set[str]:
    return {name.partition(".")[0] for _, name, _, _ in string.Formatter().parse(template) if name}


def template_fault(call: ast.Call) -> str:
    """Return what is wrong with a call that marks a text; empty if nothing is."""
    templates = call.args[: 2 if name_of(call) == "counted" else 1]
    given = {item.arg for item in call.keywords}
    for template in templates:
        if not (isinstance(template, ast.Constant) and isinstance(template.value, str)):
            return f"no literal template: {ast.unparse(template)}"
        wanted = fields_of(template.value) if given else set()
        if None not in given and not wanted <= given:
            return f"no value for a field: {template.value}"
        unused = given - wanted - ({"n"} if len(templates) == 2 else set())
        if None not in given and unused:
            return f"a value without a field: {template.value}"
    return ""


def _owner(function: ast.Attribute) -> str:
    return ast.unparse(function.value).rpartition(".")[2]


def marked_in(tree: ast.Module) -> set[ast.AST]:
    """Return the literals that are marked, and those that are not shown."""
    known: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            known |= {each.value for each in node.body if isinstance(each, ast.Expr)}
        elif isinstance(node, ast.Expr):
            known.add(node.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            # Errors of programs, not of people.
            known |= set(ast.walk(node.exc))
        elif isinstance(node, ast.Call):
            name = name_of(node)
            owner = _owner(node.func) if isinstance(node.func, ast.Attribute) else ""
            if name in MAKERS | CARRIERS | NOT_SHOWN or owner in TECHNICAL:
                known |= {each for arg in node.args for each in ast.walk(arg)}
        elif isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            known |= set(ast.walk(node.annotation))
    return known


def shown_in(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the literals that a call shows."""
    for place in SHOWN.get(name_of(call), ()):
        if place < len(call.args):
            yield from literals_in(call.args[place])
    for item in call.keywords:
        if item.arg in SHOWN_KEYWORDS and name_of(call) not in MAKERS | CARRIERS:
            yield from literals_in(item.value)


def faults(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of everything in a module that is shown without being marked."""
    tree = ast.parse(source)
    known = marked_in(tree)
    inside = {
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if name_of(node) in MAKERS and (wrong := template_fault(node)):
                yield node.lineno, wrong
            for literal in shown_in(node):
                if literal not in known and (text := letters_of(literal)):
                    yield literal.lineno, text
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node not in known | inside:
            text = letters_of(node)
            if _SENTENCE.search(text) and not _STYLE.search(text):
                yield node.lineno, text


MODULES = sorted((Path(__file__).parents[2] / "studio").rglob("*.py"))
ROOMS = sorted({path.relative_to(MODULES[0].parent).parts[0] for path in MODULES})


@pytest.mark.parametrize("room", ROOMS)
def test_no_text_of_a_room_escapes_translation(room: str) -> None:
    root = MODULES[0].parent
    found = []
    for path in MODULES:
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] == room:
            escaped = set(faults(path.read_text("utf-8")))
            found += [(name, *each) for each in sorted(escaped) if (name, each[1]) not in ALLOWED]
    assert found == []


def test_every_exception_is_needed() -> None:
    root = MODULES[0].parent
    found = {
        (name, text) for name, _ in ALLOWED for _, text in faults((root / name).read_text("utf-8"))
    }
    assert set(ALLOWED) - found == set()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('label.setText("Seed")', True),
        ('label.setText(tr("Seed"))', False),
        ('label.setText("Seed" if one else tr("Seeds"))', True),
        ('label.setText(f"{count} runs")', True),
        ('label.setText(f"<b>{count}</b>")', False),
        ('label.setText("{} runs".format(count))', True),
        ('label.setText(text + " runs")', True),
        ('label.setToolTip("")', False),
        ('describe(box, "seed_box", "Seed", tr("Tip"))', True),
        ('PanelSpec(name="setup", title="Setup")', True),
        ('PanelSpec(name="setup", title=Text("Setup"))', False),
        ('TIP = "Show the runs"', True),
        ('TIP = Text("Show the runs")', False),
        ('box.setObjectName("show the runs")', False),
        ('raise RequestError("It cannot be done.")', False),
        ('log.error("it was not done")', False),
        ('tr(f"{count} runs")', True),
        ('tr("runs: " + names)', True),
        ("tr(template)", True),
        ('tr("{count} runs", number=2)', True),
        ('tr("{count} runs", count=2)', False),
        ('Text.counted("{n} run", "{n} runs", n=2)', False),
        ('Text.counted("one run", f"{n} runs", n=2)', True),
    ],
)
def test_a_text_that_escapes_is_found(source: str, expected: bool) -> None:
    assert bool(list(faults(source))) is expected


# What Babel finds -----------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
CORE = sorted((ROOT / "td3core").rglob("*.py"))
PASSED_ON = {
    "template": "the parameter of a function that takes a template",
    "KERNELS_ASSUMED": "the template of a text that is marked where it is written",
    "value": "what a file or another process says",
    "found": "what a file or another process says",
    "status.engine if status else ''": "what a file says",
    "_text(found.get('message', ''), _MOST_TEXT)": "what a file says",
}
"""Arguments that are no literal, and why."""


def keywords() -> dict[str, int]:
    """Return the functions that the manual tells Babel of, each with the place of the template."""
    manual = (ROOT / "resources" / "manual" / "extending.md").read_text("utf-8")
    found = re.findall(r"-k (\w+)(?::(\d))?", manual)
    return {name: int(place or 1) - 1 for name, place in found}


def takes_templates(trees: list[ast.Module]) -> set[str]:
    """Return errors with a message for people, but those that word it themselves, and functions
    that take a template."""
    classes = {each.name: each for tree in trees for each in tree.body if _is_class(each)}
    found = {"MessageError"}
    while more := {
        name
        for name, each in classes.items()
        if name not in found and found & {getattr(base, "id", "") for base in each.bases}
    }:
        found |= more
    wording_themselves = {
        name
        for name in found - {"MessageError"}
        if any(getattr(part, "name", "") == "__init__" for part in classes[name].body)
    }
    functions = {
        each.name
        for tree in trees
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")
        if "template" in {one.arg for one in (*each.args.posonlyargs, *each.args.args)}
    }
    return (found - wording_themselves) | functions


def _is_class(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef)


def test_every_template_is_where_babel_looks_for_it() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in (*CORE, *MODULES)}
    known = keywords()
    # `-k error:2` is for findings; what goes into the log is no text.
    assert set(known) == takes_templates(list(trees.values())) | {"Text", "counted"}
    hidden = []
    for path, tree in trees.items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            place = known.get(name_of(call), -1)
            if not 0 <= place < len(call.args) or _is_of_log(call):
                continue
            given = call.args[place]
            if isinstance(given, ast.Constant) or _is_text(given):
                continue
            if ast.unparse(given) not in PASSED_ON:
                hidden.append((path.name, call.lineno, ast.unparse(given)))
    assert hidden == []


def _is_of_log(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and _owner(call.func) in TECHNICAL | {"warnings"}


def _is_text(given: ast.expr) -> bool:
    """Return whether an error is given a text that is marked elsewhere."""
    if isinstance(given, ast.Call):
        return name_of(given) in {"Text", "counted", "joined"}
    return ast.unparse(given).endswith((".message", "problems[-1]"))
