"""Every text that the window or the terminal shows is marked, so that it can be translated."""

import ast
import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

from td3core.analysis.advice import load_rules
from td3core.cli import doctor, numerics
from td3core.config.presets import load_presets
from td3core.experiments.lessons import load_lessons
from td3core.system.bundled_files import extract
from tests.support.marked_texts import (
    MAKERS,
    TECHNICAL,
    TEMPLATE_FAULTS,
    faults,
    faults_below,
    name_of,
    owner_of,
)

ALLOWED = {
    ("plots/compare/table.py", "P("): "a formula",
    ("plots/run/grid.py", "x"): "the axis",
    ("window/main_window.py", "TD3 Studio"): "the program",
    ("window/toolbar.py", " – TD3 Studio"): "the program",
    ("window/toolbar.py", "TD3 Studio"): "the program",
    ("window/preferences/notifier.py", "TD3 Studio"): "the program",
    ("window/crash_reporter.py", "In the thread :\n"): "details of a bug report",
    ("setup/env_picker.py", "pip install ''"): "a command",
    ("setup/fixed_fields.py", '{"xml_file": "/path/to/ant.xml"}'): "an example of JSON",
}
"""Literals that are shown or read like a text, and why they stay as they are."""
ALLOWED_IN_TERMINALS = {
    ("app.py", "td3-studio "): "the program",
    ("doctor.py", doctor.RENDER_ONCE): "Python",
    ("doctor.py", "pip install ''"): "a command",
    ("numerics.py", numerics.PROGRAM): "Python",
    ("numerics.py", numerics.RECEIVING): "Python",
    ("train.py", "--set seed"): "an option",
}
"""The same for the command line."""

ALLOWED_IN_DATA = {
    ("algorithm/fingerprint.py", "written out"): "a word of the record",
    ("analysis/results.py", "branched from  at "): "compared, not shown",
    ("experiments/groups/seed_status.py", "held back"): "a word of the protocol",
    ("experiments/sweeps/file.py", "a whole number"): "the name of a type in a sweep's file",
    ("experiments/sweeps/runner.py", "Trial  of the sweep ."): "a note in a run's folder",
    ("experiments/sweeps/runner.py", " Pruned at"): "a note in a run's folder",
    ("experiments/sweeps/runner.py", " Pruned at step ."): "a note in a run's folder",
    ("runs/directory.py", ".csv"): "a file",
    ("training/trainer.py", "the last agent could not be saved"): "the log file",
    ("training/trainer.py", "the best agent could not be saved"): "the log file",
    ("training/trainer.py", "how far it got could not be recorded"): "the log file",
}
"""The same for data that the core passes to the window and the terminal."""
DATA = (
    *("algorithm/fingerprint.py", "analysis/", "envs/check/report.py", "experiments/"),
    *("exporters/registry.py", "exporters/live/", "exporters/film/", "playing/", "protocol/"),
    *("runs/", "training/"),
)
"""Sources of texts that travel as data, such as why a trial failed."""

WINDOW = Path(__file__).parents[2] / "studio"
COMMAND_LINE = WINDOW.parent / "td3core" / "cli"
MODULES = sorted(WINDOW.rglob("*.py"))
ROOMS = sorted({path.relative_to(WINDOW).parts[0] for path in MODULES})


@pytest.mark.parametrize("room", ROOMS)
def test_no_text_of_a_room_escapes_translation(room: str) -> None:
    found = [each for each in faults_below(WINDOW) if each[0].split("/")[0] == room]
    assert [each for each in found if each[::2] not in ALLOWED] == []


def test_no_text_of_the_command_line_escapes_translation() -> None:
    found = faults_below(COMMAND_LINE)
    assert [each for each in found if each[::2] not in ALLOWED_IN_TERMINALS] == []


def test_no_text_that_travels_as_data_escapes_translation() -> None:
    found = [
        each
        for each in faults_below(COMMAND_LINE.parent)
        if each[0].startswith(DATA) and not each[2].startswith(TEMPLATE_FAULTS)
    ]
    assert [each for each in found if each[::2] not in ALLOWED_IN_DATA] == []


def test_every_message_of_the_core_has_a_template_and_values_for_its_fields() -> None:
    found = [
        (module, line, fault)
        for module, line, fault in faults_below(COMMAND_LINE.parent)
        if fault.startswith(TEMPLATE_FAULTS)
    ]
    passed_on = {f"{TEMPLATE_FAULTS[0]}{each}" for each in PASSED_ON}
    assert [each for each in found if each[-1] not in passed_on] == []


@pytest.mark.parametrize(
    ("root", "allowed"),
    [
        (WINDOW, ALLOWED),
        (COMMAND_LINE, ALLOWED_IN_TERMINALS),
        (COMMAND_LINE.parent, ALLOWED_IN_DATA),
    ],
)
def test_every_exception_is_needed(root: Path, allowed: dict[tuple[str, str], str]) -> None:
    assert set(allowed) - {each[::2] for each in faults_below(root)} == set()


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
        ('raise RequestError(f"{name} is odd.")', True),
        ('raise RunError("{} is odd.".format(name))', True),
        ('raise RequestError(name + " is odd.") from None', True),
        ("raise RequestError(str(problem))", True),
        ('raise RequestError("{name} is odd.", nome=name)', True),
        ('raise RequestError("{name} is odd.", name)', True),
        ('raise RequestError("{size:,} is {{odd}}.", size=3)', False),
        ('raise unknown_name("preset", name, known)', True),
        ('raise unknown_name(f"There is no {kind} called {{name}}.", name, known)', True),
        ("raise unknown_name(kind, name, known)", True),
        ('raise unknown_name("There is no preset called {name}.", name, known)', False),
        ('raise unknown_name("No {name} in {where}.", name, known, where=where)', False),
        ('raise RequestError(Text.counted("{n} run.", "{n} runs.", n=2))', False),
        ("raise RequestError(problem.message)", False),
        ("raise RequestError(template, **values)", False),
        ('raise ValueError(f"{name} is odd.")', False),
        ('warning(SHAPE, f"{name} is odd.")', True),
        ('warning(SHAPE, "{name} is odd.", name=name)', False),
        ('Text("%s is odd." % name)', True),
        ('log.error("it was not done")', False),
        ('tr(f"{count} runs")', True),
        ('tr("runs: " + names)', True),
        ("tr(template)", True),
        ('tr("{count} runs", number=2)', True),
        ('tr("{count} runs", count=2)', False),
        ('Text.counted("{n} run", "{n} runs", n=2)', False),
        ('Text.counted("one run", f"{n} runs", n=2)', True),
        ('log("Interrupted.")', True),
        ('log(Text("Interrupted."))', False),
        ('table = Table("setting")', True),
        ('option = typer.Option("--force", help="Replace an existing file.")', True),
        ('option = typer.Option("--force", help=marked("Replace an existing file."))', False),
    ],
)
def test_a_text_that_escapes_is_found(source: str, expected: bool) -> None:
    assert bool(list(faults(source))) is expected


@pytest.mark.slow
def test_a_trial_is_one_of_a_sweep_in_every_text_of_the_window() -> None:
    rooms = [path for path in MODULES if "sweep" not in path.name]
    trees = [ast.parse(path.read_text("utf-8")) for path in rooms]
    calls = [each for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Call)]
    texts = [ast.unparse(each) for each in calls if name_of(each) in ("tr", "Text", "counted")]
    assert [each for each in texts if re.search(r"\btrials?\b", each)] == []


@pytest.mark.slow
def test_formulas_have_subscripts_and_typographic_signs_in_every_text() -> None:
    plain = re.compile(r"\b[QL][12](?!\w)|\bpi\(|\bgamma\)|[<>]= ?\d|\w\)\|? - \w")
    modules = [*MODULES, *COMMAND_LINE.parent.rglob("*.py")]
    literals = re.compile(r"'[^']*'|\"[^\"]*\"")
    shown = {path: literals.findall(shown_text(path)) for path in modules}
    assert [path for path, texts in shown.items() if plain.search("\n".join(texts))] == []


@pytest.mark.slow
def test_no_text_of_the_window_names_a_side_where_a_panel_may_not_be() -> None:
    """Panels move, and in a narrow window they share one place."""
    named = re.compile(r"\bon the (left|right)\b")
    assert [path.name for path in MODULES if named.search(shown_text(path))] == []


def shown_text(path: Path) -> str:
    """Return the templates that a module marks."""
    calls = [
        each for each in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(each, ast.Call)
    ]
    return "\n".join(ast.unparse(each) for each in calls if name_of(each) in MAKERS)


# What Babel finds -----------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
CORE = sorted((ROOT / "td3core").rglob("*.py"))
PASSED_ON = {
    "template": "the parameter of a function that takes a template",
    "text": "a template that is marked where it is written",
    "value": "what a file or another process says",
    "found": "what a file or another process says",
    "status.engine if status else ''": "what a file says",
    "_text(found.get('message', ''), _MOST_TEXT)": "what a file says",
    "str(found[key]).strip()": "the texts of bundled files, which bundled_files.py finds",
}
"""Arguments that are not literals, and why."""


def keywords() -> dict[str, int]:
    """Return the functions that the manual names for Babel, each with the index of the template."""
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


@pytest.mark.slow
def test_every_template_is_where_babel_looks_for_it() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in (*CORE, *MODULES)}
    known = keywords()
    # `-k error:2` is for findings; log messages are not texts.
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


@pytest.mark.parametrize("kind", ["advice", "lessons", "presets"])
def test_babel_finds_the_texts_of_bundled_files(kind: str) -> None:
    found = set()
    for path in sorted((ROOT / "resources" / kind).glob("*.toml")):
        with path.open("rb") as file:
            told = list(extract(file, (), (), {}))
        assert all(path.read_text("utf-8").splitlines()[line - 1] for line, *_ in told)
        found |= {text for _, _, text, _ in told}
    shown: set[str] = set()
    if kind == "advice":
        for rule in load_rules():
            remedies = (rule.remedy, *rule.of_algorithm.values())
            texts = (rule.title, rule.reason, *(each.advice for each in remedies))
            shown |= {each.template for each in texts}
    elif kind == "lessons":
        for lesson in load_lessons():
            texts = (lesson.title, lesson.question, lesson.text, lesson.look, lesson.seen)
            shown |= {each.template for each in (*texts, *(arm.title for arm in lesson.arms))}
    else:
        shown |= {preset.about for preset in load_presets().values()} - {""}
    assert shown
    assert found == shown
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["babel"]
    method, patterns = mapping["mappings"][1]["method"], mapping["mappings"][1]["pattern"]
    assert resolve_name(method) is extract
    assert f"**/{kind}/*.toml" in patterns


def _is_of_log(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and owner_of(call.func) in TECHNICAL | {"warnings"}


def _is_text(given: ast.expr) -> bool:
    """Return whether an error is given a text that is marked elsewhere."""
    if isinstance(given, ast.Call):
        return name_of(given) in {"Text", "counted", "joined"}
    return ast.unparse(given).endswith((".message", "problems[-1]"))
