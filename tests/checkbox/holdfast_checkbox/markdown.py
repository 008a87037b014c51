"""Reads and edits a Markdown checklist. Lines that say nothing about the workflow stay as they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TITLE = re.compile(r"# (.*\S)\s*")
_HEADING = re.compile(r"## (.*\S)\s*")
_ITEM = re.compile(r"- \[([ xX!])\] ?(.*)")
_ENTRY = re.compile(r"- (.*\S)\s*")
_NOTE = re.compile(r"  > (.*)")
SECTIONS = ("Reading", "Reminders", "Context")


@dataclass
class Item:
    """A box: what it is called, whether it is ticked or failed, the number of its line and the note below it."""

    title: str
    done: bool
    failed: bool
    line: int
    note: str = ""


@dataclass
class Checklist:
    """What a file says."""

    title: str = ""
    items: list[Item] = field(default_factory=list)
    sections: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in SECTIONS})


def parse(text: str) -> Checklist:
    """Return what a text says. It is a checklist if it has a title and an item."""
    found, section = Checklist(), ""
    for number, line in enumerate(text.split("\n")):
        if heading := _HEADING.fullmatch(line):
            section = heading[1]
        elif section in SECTIONS:
            if entry := _ENTRY.fullmatch(line):
                found.sections[section].append(entry[1])
        elif title := _TITLE.fullmatch(line):
            found.title = found.title or title[1]
        elif item := _ITEM.fullmatch(line):
            found.items.append(Item(item[2].strip(), item[1] in "xX", item[1] == "!", number))
        elif (note := _NOTE.fullmatch(line)) and found.items:
            found.items[-1].note = "\n".join(filter(None, (found.items[-1].note, note[1])))
    return found


def fresh(title: str, items: Iterable[str]) -> str:
    """Return the text of a new checklist."""
    return "\n".join([f"# {_line(title)}", "", *(f"- [ ] {_line(each)}" for each in items), ""])


def ticked(text: str, number: int, note: str = "", box: str = "x") -> str:
    """Return a checklist with the item of this number (from 1) ticked, and a note below it.

    Another `box` says that it failed (`!`) or is open again.
    """
    lines = text.split("\n")
    item = parse(text).items[number - 1]
    lines[item.line] = f"- [{box}] {item.title}"
    lines[item.line + 1 : item.line + 1] = [f"  > {each}" for each in note.splitlines() if each.strip()]
    return "\n".join(lines)


def added(text: str, section: str, entries: Sequence[str]) -> str:
    """Return a checklist with entries added to a section; in `Context`, in place of those with the same key."""
    known = parse(text).sections[section]
    keys = {each.partition(": ")[0] for each in entries} if section == "Context" else set()
    new = [_line(each) for each in entries if each not in known]
    if not new:
        return text
    lines, inside, at = text.rstrip("\n").split("\n"), False, -1
    kept = list[str]()
    for line in lines:
        if heading := _HEADING.fullmatch(line):
            inside = heading[1] == section
        entry = _ENTRY.fullmatch(line) if inside else None
        if entry and entry[1].partition(": ")[0] in keys:
            continue
        kept.append(line)
        at = len(kept) if inside and (entry or heading) else at
    if at < 0:
        kept += ["", f"## {section}", ""]
        at = len(kept)
    kept[at:at] = [f"- {each}" for each in new]
    return "\n".join([*kept, ""])


def entry(key: str, value: object) -> str:
    """Return a context value as a line: a text as it is, anything else as JSON between backticks."""
    plain = isinstance(value, str) and not value.startswith("`")
    return f"{key}: {value}" if plain else f"{key}: `{json.dumps(value)}`"


def pair(line: str) -> tuple[str, Any]:
    """Return the key and the value that a line of the context holds."""
    key, _, said = line.partition(": ")
    try:
        return key, json.loads(said[1:-1]) if said.startswith("`") and said.endswith("`") else said
    except ValueError:  # a person's own backticks
        return key, said


def file_name(title: str, number: int = 1) -> str:
    """Return what the file of a checklist is called, or of a later one with the same title."""
    name = re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "checklist"
    return f"{name}-{number}.md" if number > 1 else f"{name}.md"


def _line(text: str) -> str:
    return " ".join(text.split())
