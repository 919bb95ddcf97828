"""Reads the page of a report as a browser does: headings, tables, lists, and every element."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "img", "br"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    text: str = ""
    """Of everything in it."""
    children: list["Element"] = field(default_factory=list)

    def all(self, *names: str) -> "list[Element]":
        found = [self] if self.name in names else []
        for child in self.children:
            found += child.all(*names)
        return found

    @property
    def rows(self) -> list[list[str]]:
        """The texts of the body of a table."""
        (body,) = self.all("tbody")
        return [[cell.text for cell in row.all("td")] for row in body.all("tr")]

    @property
    def heads(self) -> list[str]:
        return [cell.text for cell in self.all("th")]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("root", {})
        self.stack = [self.root]

    def handle_starttag(self, tag, attrs) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.stack[-1].children.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag, attrs) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.stack[-1].children.append(element)

    def handle_endtag(self, tag) -> None:
        assert self.stack.pop().name == tag, f"</{tag}> closes something else"

    def handle_data(self, data) -> None:
        for element in self.stack:
            element.text += data


def read(page: str) -> Element:
    """Return the page; every element is closed in its place."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.stack == [reader.root]
    return reader.root


def section(page: Element, name: str) -> Element:
    (found,) = [each for each in page.all("section") if each.attributes.get("id") == name]
    return found


def sections(page: Element) -> list[str]:
    return [each.attributes["id"] for each in page.all("section")]
