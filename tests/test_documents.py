"""The texts agree with the project: links, paths, commands, options, settings and examples."""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from td3core.cli.app import app
from td3core.config import parse_value
from td3core.experiments.sweeps.launch import bundled_sweeps
from tests import settings_table

ROOT = Path(__file__).resolve().parent.parent
MANUAL = ROOT / "resources" / "manual"
PAGES = sorted(MANUAL.glob("*.md"))
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "resources" / "agents" / "README.md",
    ROOT / "tests" / "benchmarks" / "README.md",
    *PAGES,
]
CURRENT = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]
"""Those that describe the project as it is; a changelog may name what has gone."""
MOST_LINES_OF_README = 130

ROOMS = ("td3core/", "studio/", "resources/", "tests/", ".ci/")
MODULES = {
    path.name for room in ("td3core", "studio", "tests") for path in ROOT.glob(f"{room}/**/*.py")
}
MOST_WORDS_OF_LABEL = 6
"""What is longer and in italics is the title of a paper."""
WINDOW_OPTIONS = {"--runs-dir"}
"""What the window takes: no options of Typer's, but in its help."""
PLACEHOLDER = "my_"
"""Begins the names of modules and files that stand for the reader's own."""
OF_OTHERS = ("wandb",)
"""Packages in examples that the tests do not install."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def parameters(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=name_of)


def blocks(path: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language in a document."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)
    return [text for of, text in found if of == language]


def prose(path: Path) -> str:
    """Return a document without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S)


def spans(path: Path) -> list[str]:
    """Return what a document sets as code within its text."""
    return re.findall(r"`([^`\n]+)`", prose(path))


# Links -------------------------------------------------------------------------------------------


def links(path: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(path))
    return [target for target in targets if "://" not in target]


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose(path), re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings
    }


@parameters(DOCUMENTS)
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(path: Path) -> None:
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.is_file(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


@parameters(PAGES)
def test_the_manual_links_only_to_what_is_shipped_with_it(path: Path) -> None:
    for link in links(path):
        target = (path.parent / link.partition("#")[0]).resolve()
        assert target.is_relative_to(ROOT / "resources"), link


def test_every_page_of_the_manual_can_be_reached_from_its_index() -> None:
    reached, found = set(), [MANUAL / "index.md"]
    while found:
        page = found.pop()
        if page not in reached:
            reached.add(page)
            names = [link.partition("#")[0] for link in links(page)]
            found += [(MANUAL / name).resolve() for name in names if name.endswith(".md")]
    assert reached == set(PAGES)


# Paths and modules -------------------------------------------------------------------------------


@parameters(CURRENT)
def test_every_path_exists(path: Path) -> None:
    named = [word for span in spans(path) for word in span.split() if word.startswith(ROOMS)]
    bare = [span for span in spans(path) if re.fullmatch(r"\w+\.py", span)]
    missing = [each for each in named if not (ROOT / each).exists()]
    missing += [each for each in bare if each not in MODULES]
    assert missing == []


@parameters(CURRENT)
def test_every_module_exists(path: Path) -> None:
    pattern = r"\b(?:td3core|studio|tests)(?:\.\w+)+"
    for name in re.findall(pattern, " ".join([*spans(path), *blocks(path, "bash")])):
        assert importlib.util.find_spec(name) is not None, name


def test_the_map_has_a_line_for_every_room() -> None:
    page = ROOT / "resources" / "manual" / "extending.md"
    (text,) = [block for block in blocks(page, "") if "td3core/" in block]
    mapped, folders = list[str](), list[str]()
    for line in text.splitlines():
        indent, name = len(line) - len(line.lstrip()), line.split()[0]
        folders = [*folders[: indent // 2], name]
        mapped.append("".join(folders))
    rooms = {
        f"{init.parent.relative_to(ROOT).as_posix()}/"
        for package in ("td3core", "studio")
        for init in (ROOT / package).rglob("__init__.py")
    }
    assert sorted(mapped) == sorted(rooms | {"resources/", "tests/"})


# Labels ------------------------------------------------------------------------------------------


@cache
def labels_in(*rooms: str) -> str:
    """Return every text in the code of some rooms, one a line."""
    trees = [ast.parse(path.read_text("utf-8")) for room in rooms for path in ROOT.glob(room)]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return "\n".join(node.value for node in nodes if isinstance(node.value, str))


@parameters([ROOT / "README.md", *PAGES])
def test_every_label_named_in_the_text_is_one_of_the_window(path: Path) -> None:
    labels = labels_in("studio/**/*.py", "td3core/config/*.py")
    named = re.findall(r"(?<![*\w])\*([A-Z][^*\n]*)\*(?!\*)", prose(path))
    wanted = [name for name in named if len(name.split()) <= MOST_WORDS_OF_LABEL]
    assert [name for name in wanted if name not in labels] == []


# Commands ----------------------------------------------------------------------------------------


def commands(path: Path) -> Iterator[list[str]]:
    """Yield the words of every call of the program, in blocks and within the text."""
    lines = "\n".join([*blocks(path, "bash"), *spans(path)]).replace("\\\n", " ")
    for line in lines.splitlines():
        for call in re.split(r"&&|;", line):
            words = shlex.split(call, comments=True)
            while words and re.fullmatch(r"\w+=.*", words[0]):
                words.pop(0)
            if words[:3] == ["python", "-m", "td3core"]:
                yield words[3:]
            elif words and Path(words[0]).name == "td3-studio":
                yield words[1:]


def subcommands() -> dict[str, Any]:
    """Return the commands by name. Their classes are Click's, which Typer may bring itself."""
    return dict(typer.main.get_command(app).commands)


def options_of(command: Any) -> set[str]:
    return {name for option in command.params for name in option.opts} | {"--help"}


ALL_OPTIONS = set().union(*map(options_of, subcommands().values()), {"--version"})


@parameters(CURRENT)
def test_every_command_takes_its_options(path: Path) -> None:
    for words in commands(path):
        if not words or words[0].startswith("-"):
            assert set(words[:1]) <= {*WINDOW_OPTIONS, "--help", "--version"}, words
            continue
        command = subcommands().get(words[0])
        assert command is not None, words
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= options_of(command), words
        for option, value in pairwise(words):
            if option == "--set" and value != "FIELD=VALUE":
                name, _, text = value.partition("=")
                parse_value(name, text)


def test_the_manual_names_the_values_of_options_as_the_help_does() -> None:
    named = {
        (option, parameter.metavar)
        for command in subcommands().values()
        for parameter in command.params
        for option in parameter.opts
    }
    page = (MANUAL / "command-line.md").read_text("utf-8")
    cells = re.findall(r"(?m)^\| (`--.*?) \|", page)
    told = re.findall(r"`(--[a-z-]+) ([^` ]+)`", "\n".join(cells))
    assert len(told) > 40
    assert set(told) <= named


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=name_of)
def test_every_option_named_in_the_text_exists(path: Path) -> None:
    ours = [span for span in spans(path) if re.match(r"--\w", span)]
    for span in ours:
        assert span.split()[0].partition("=")[0] in ALL_OPTIONS, span


def test_the_help_and_the_command_line_page_say_what_the_window_takes() -> None:
    page = (MANUAL / "command-line.md").read_text("utf-8")
    for told in (str(app.info.help), page.partition("## Commands")[0]):
        assert all(option in told for option in WINDOW_OPTIONS)
        assert "paths of" in told.lower()


def test_the_command_line_page_names_every_command_and_every_option() -> None:
    text = (MANUAL / "command-line.md").read_text("utf-8")
    for name, command in subcommands().items():
        assert re.search(rf"^\| `{name}[ `]", text, re.M), name
        for option in options_of(command):
            assert not option.startswith("--") or option in text, (name, option)


def test_the_page_of_sweeps_names_every_bundled_one() -> None:
    named = [words[1] for words in commands(MANUAL / "sweeps.md") if words[0] == "sweep"]
    assert bundled_sweeps() != []
    assert [name for name in bundled_sweeps() if name not in named] == []


# Examples ----------------------------------------------------------------------------------------


@parameters([path for path in CURRENT if blocks(path, "python")])
def test_python_examples_compile_and_find_what_they_import(path: Path) -> None:
    wanted = []
    for block in blocks(path, "python"):
        tree = ast.parse(block)
        wanted += [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    others = (PLACEHOLDER, *OF_OTHERS)
    own = [node for node in wanted if not ast.unparse(node).split()[1].startswith(others)]
    for node in own:
        exec(ast.unparse(node), {})


def test_the_example_of_a_saved_agent_works_as_it_is_written() -> None:
    first, second, *_ = blocks(MANUAL / "python-api.md", "python")
    agent = ROOT / "resources" / "agents" / "Pendulum-v1.safetensors"
    short = first.replace("episodes=10", "episodes=1").replace("best.safetensors", agent.as_posix())
    code = f"{short}\n{second}\nprint(env.observation_space.contains(observation))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    mean, last = done.stdout.split()
    assert -2000 < float(mean) < 0
    assert last == "True"


def training(folder: Path) -> list[str]:
    """Write the example of training into a folder, much shorter; return the command to run it."""
    (example,) = (b for b in blocks(MANUAL / "python-api.md", "python") if "outcome = train(" in b)
    (folder / "program.py").write_text(example.replace('"steps": 5000', '"steps": 300'))
    return [sys.executable, str(folder / "program.py")]


def trained(command: list[str]) -> tuple[list[str], str]:
    """Run the example; return the names of its runs, and what it printed as errors."""
    folder = Path(command[1]).parent
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    return [path.name for path in (folder / "runs").iterdir()], done.stderr


@pytest.mark.slow
def test_the_example_of_training_trains_one_agent(tmp_path: Path) -> None:
    runs, errors = trained(training(tmp_path))
    assert (len(runs), errors) == (1, "")


@pytest.mark.release
def test_without_the_guard_of_the_example_the_child_says_so_and_does_not_train(
    tmp_path: Path,
) -> None:
    command = training(tmp_path)
    text = Path(command[1]).read_text()
    Path(command[1]).write_text(text.replace('if __name__ == "__main__"', "if True"))
    runs, errors = trained(command)
    assert len(runs) == 1
    assert 'Put the training under if __name__ == "__main__":.' in errors


# The README and the tables -----------------------------------------------------------------------


def test_the_readme_is_a_front_page() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= MOST_LINES_OF_README


def test_the_readme_names_the_command_that_runs_the_tests() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^<!-- test command -->\n```bash\n(.*?)\n```$", text, re.M | re.S)
    assert found is not None
    assert "pytest" in found[1]


def test_the_tables_of_settings_are_those_of_the_code() -> None:
    text = settings_table.PAGE.read_text("utf-8")
    assert settings_table.with_tables(text) == text
