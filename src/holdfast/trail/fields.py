"""Fields of a transcript's entries, of which nothing is certain: what has another type is as good as missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def text(value: Mapping[str, Any], key: str) -> str:
    """Return the text under a key, "" if there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def mapping(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def mappings(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list; none where it is no list."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def blocks(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of an entry's message; a plain text is one block."""
    content = mapping(entry, "message").get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(mappings(content))


def plain(content: object) -> str:
    """Return the text of a message's or a result's content, which is a text or a list of blocks."""
    return "\n".join(texts(content))


def texts(content: object) -> Iterator[str]:
    """Yield the texts in a content, block by block."""
    if isinstance(content, str):
        yield content
    for block in mappings(content):
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            yield block["text"]


def tag(value: str, name: str) -> str:
    """Return what stands between the first tags of a name in a text of the client's, "" without them.

    A result may hold any words, tags too: it stands last and reaches to the last closing tag of its own.
    """
    start = value.find(f"<{name}>")
    if start < 0:
        return ""
    start += len(name) + 2
    end = value.rfind(f"</{name}>", start) if name == "result" else value.find(f"</{name}>", start)
    return value[start : end if end >= 0 else len(value)].strip()
