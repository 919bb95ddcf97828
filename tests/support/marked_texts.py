"""Finds texts that are shown without being marked, so that they could not be translated."""

import ast
import re
import string
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

MAKERS = {"tr", "Text", "counted", "marked"}
CARRIERS = {"MessageError", "RequestError", "RunError", "ProbeError", "UnexpectedError"}
"""Classes that take a template, like the functions that make texts, or a text that is made."""
FINDINGS = {"passed", "warning", "error"}
"""Functions that take a template after the check that it is about."""
LOOK_UPS = {"unknown_name"}
"""Functions that take a template, the name that it is about and what is known."""
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
    **dict.fromkeys(("show_text", "breakable", "plain_tip", "ask_target"), (0,)),
    **dict.fromkeys(("enable", "retip", "choose_file", "ask_for_file", "make_export_button"), (1,)),
    "make_choice": (1, 2),
    **dict.fromkeys(("make_button", "make_icon_button", "make_narrow_combo"), (1, 2)),
    **dict.fromkeys(("ask", "choose", "describe"), (2, 3)),
    "show_message": (1, 2),
    "add_number": (1, 6, 7),
    # The command line's.
    **dict.fromkeys(("log_error", "print_result", "Column", "add_task", "Diagnosis"), (0, 1)),
    **dict.fromkeys(("limited", "of_setting"), (2,)),
    **dict.fromkeys(("log", "Table", "add_row"), (0, 1, 2, 3, 4)),
}
"""Arguments that are shown, by the function that takes them."""
SHOWN_KEYWORDS = {
    *("title", "text", "tip", "help", "label", "empty", "about", "caption", "unit", "zero"),
    *("lowest",),
}
NOT_SHOWN = {
    *("setObjectName", "setProperty", "setStyleSheet", "getattr", "hasattr", "TypeVar", "cast"),
}
TECHNICAL = {"log", "re", "stderr"}
"""Functions whose text is for no user: the log file, patterns, standard error."""
_SENTENCE = re.compile(r"[^\W\d_]{2,}[,:;.]? [^\W\d_]{2,}")
_STYLE = re.compile(r"[\w-]+: [^;{}]+;")
"""A property of a style sheet."""
_PASSED_ON = (ast.Name, ast.Attribute, ast.Subscript)
"""How a text that is made elsewhere is passed on."""
TEMPLATE_FAULTS = ("no literal template: ", "no value for ", "a value without ")
"""How the faults of calls that make texts begin."""
_MARKUP = re.compile(r"<[^>]*>|&\w+;")


def name_of(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def letters_of(node: ast.expr) -> str:
    """Return the words of a literal without markup and values; empty without a letter."""
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


def makes_text(call: ast.Call) -> bool:
    name = name_of(call)
    # Methods of other objects are called warning and error as well.
    return name in MAKERS | CARRIERS | LOOK_UPS or (
        name in FINDINGS and isinstance(call.func, ast.Name)
    )


def template_fault(call: ast.Call) -> str:
    """Return the fault in a call that marks a text; empty if there is none."""
    name = name_of(call)
    most = 2 if name == "counted" or name in FINDINGS else 1
    if name in MAKERS | CARRIERS and len(call.args) > most:
        return f"a value without a name: {ast.unparse(call.args[most])}"
    templates = call.args[1 if name in FINDINGS else 0 : most]
    given = {item.arg for item in call.keywords} | ({"name"} if name in LOOK_UPS else set())
    used: set[str] = set()
    for template in templates:
        if name not in MAKERS | LOOK_UPS and isinstance(template, _PASSED_ON):
            return ""
        if (
            name not in MAKERS | LOOK_UPS
            and isinstance(template, ast.Call)
            and makes_text(template)
        ):
            return ""
        if not (isinstance(template, ast.Constant) and isinstance(template.value, str)):
            return f"no literal template: {ast.unparse(template)}"
        wanted = fields_of(template.value) if given else set()
        used |= wanted
        if None not in given and not wanted <= given:
            return f"no value for a field: {template.value}"
    # One of something may need fewer words than several.
    unused = given - used - ({"n"} if name == "counted" else set())
    if None not in given and unused:
        return f"a value without a field: {ast.unparse(templates[0])}"
    return ""


def template_faults(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and fault of every call that makes a text or message wrongly."""
    for node in nodes:
        if isinstance(node, ast.Call) and makes_text(node) and (wrong := template_fault(node)):
            yield node.lineno, wrong


def owner_of(function: ast.Attribute) -> str:
    return ast.unparse(function.value).rpartition(".")[2]


def marked_in(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """Return the literals that are marked, and those not shown, among a module's nodes."""
    known: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            known |= {each.value for each in node.body if isinstance(each, ast.Expr)}
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                known |= set(ast.walk(node.returns))
        elif isinstance(node, ast.Expr):
            known.add(node.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            # Errors of programs, not of people.
            known |= set(ast.walk(node.exc))
        elif isinstance(node, ast.Call):
            name = name_of(node)
            owner = owner_of(node.func) if isinstance(node.func, ast.Attribute) else ""
            if makes_text(node) or name in NOT_SHOWN or owner in TECHNICAL:
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
    nodes = list(ast.walk(ast.parse(source)))
    known = marked_in(nodes)
    inside = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    yield from template_faults(nodes)
    for node in nodes:
        if isinstance(node, ast.Call):
            for literal in shown_in(node):
                if literal not in known and (text := letters_of(literal)):
                    yield literal.lineno, text
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node not in known | inside:
            text = letters_of(node)
            if _SENTENCE.search(text) and not _STYLE.search(text):
                yield node.lineno, text


@cache
def faults_below(root: Path) -> tuple[tuple[str, int, str], ...]:
    """Return module, line and text of everything that escapes in the modules below a folder."""
    return tuple(
        (path.relative_to(root).as_posix(), *each)
        for path in sorted(root.rglob("*.py"))
        for each in sorted(set(faults(path.read_text("utf-8"))))
    )
