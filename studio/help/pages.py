"""The pages of the manual in ``resources/manual``. No Qt."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import normpath

INDEX = "index.md"

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_TARGET = re.compile(r"\]\([^)\s]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the manual."""

    name: str
    """Its file name, such as ``runs.md``."""
    title: str
    markdown: str

    def contains(self, words: Sequence[str]) -> bool:
        """Return whether the page contains every one of these words, in lower case."""
        visible = _TARGET.sub("]", self.markdown).lower()
        return all(word in visible for word in words)


def manual_folder() -> Traversable:
    """Return the folder of the manual."""
    return files("resources") / "manual"


def load_pages(folder: Traversable) -> tuple[Page, ...]:
    """Read every page reachable from the index, in the order of links."""
    pages: dict[str, Page] = {}
    found = [INDEX]
    while found:
        name = found.pop(0)
        if name not in pages:
            pages[name] = _read(folder / name)
            found += linked_pages(pages[name].markdown)
    return tuple(pages.values())


def linked_pages(markdown: str) -> list[str]:
    """Return the names of the pages that a page links to, in order."""
    targets = (split_target(target)[0] for target in _LINK.findall(markdown))
    return [name for name in targets if name.endswith(".md") and "/" not in name]


def split_target(target: str) -> tuple[str, str]:
    """Split the target of a link into the name of a page and the anchor of a heading."""
    name, _, anchor = target.partition("#")
    return name, anchor


def heading_anchor(heading: str) -> str:
    """Return the anchor of a heading, as on GitHub."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def read_picture(folder: Traversable, target: str) -> bytes:
    """Return the bytes of a page's picture, such as ``../pictures/light.png``.

    Raises:
        OSError: the file does not exist.
        ValueError: the target leads out of the resources.
    """
    path = normpath(f"{folder.name}/{target}")
    if path.startswith(("..", "/")):
        raise ValueError(f"{target} leads out of the resources")
    return (files("resources") / path).read_bytes()


def _read(path: Traversable) -> Page:
    text = _COMMENT.sub("", path.read_text("utf-8"))
    title = text.partition("\n")[0].removeprefix("#").strip()
    return Page(name=path.name, title=title, markdown=text)
