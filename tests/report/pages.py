"""A report's page as a browser reads it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

from holdfast.report.page import render

if TYPE_CHECKING:
    from holdfast.report.gather import Report

VOID = {"meta", "input", "br", "hr", "img", "link"}


class Page(HTMLParser):
    """A page's elements with their attributes, its text, the cells of its tables, and what was never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.rows: dict[str, list[list[list[str]]]] = {}
        """By section: the parts of the text of each cell in each row."""
        self._section = ""
        self.feed(text)
        self.close()

    @property
    def words(self) -> str:
        """The text, every part apart from the next."""
        return " ".join(" ".join(self.text).split())

    def cells(self, section: str) -> list[list[str]]:
        """Return what each row of a section's table says; none if there is no such section."""
        return [[" ".join(" ".join(cell).split()) for cell in row] for row in self.rows.get(section, [])[1:]]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self._section = str(attributes["id"])
        elif tag == "tr":
            self.rows.setdefault(self._section, []).append([])
        elif tag == "td":
            self.rows[self._section][-1].append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if "td" in self.open:
            self.rows[self._section][-1][-1].append(data)


def page(report: Report) -> Page:
    """Return the page of a report."""
    return Page(render(report))
