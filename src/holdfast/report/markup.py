"""Build HTML elements in which foreign text is always text: redacted, without control characters, never markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from xml.etree.ElementTree import Element, tostring

from holdfast.files.redact import redact
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

Content: TypeAlias = "Element | str | Iterable[Element | str]"


def tag(name: str, /, *content: Content, **attributes: str) -> Element:
    """Return an element.

    Args:
        name: the element's name.
        content: texts and elements, or sequences of these.
        attributes: its attributes. `_` in a name becomes `-`, at the end it is dropped; empty values are left out.
    """
    element = Element(name)
    for key, value in attributes.items():
        if value:
            element.set(key.rstrip("_").replace("_", "-"), _said(value))
    for each in content:
        for part in [each] if isinstance(each, str | Element) else each:
            _append(element, part)
    return element


def foreign_text(text: str, **attributes: str) -> Element:
    """Return foreign text as an element that keeps its own reading direction."""
    return tag("bdi", text, **attributes)


def code(text: str) -> Element:
    """Return a command; a line breaks only between its words."""
    first, *rest = (tag("span", word) for word in text.split(" "))
    return tag("code", first, [part for word in rest for part in (" ", word)])


def html(root: Element) -> str:
    """Return a page as text."""
    return f"<!doctype html>\n{tostring(root, encoding='unicode', method='html')}\n"


def style(text: str) -> Element:
    """Return a style sheet of Holdfast's as an element, unescaped."""
    element = Element("style")
    element.text = text
    return element


def _append(element: Element, part: Element | str) -> None:
    if not isinstance(part, str):
        element.append(part)
    elif len(element):
        last = element[-1]
        last.tail = (last.tail or "") + _said(part)
    else:
        element.text = (element.text or "") + _said(part)


def _said(text: str) -> str:
    return redact(clean(text))
