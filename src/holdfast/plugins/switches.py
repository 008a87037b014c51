"""Switch handlers on and off by name in the user's own `holdfast.toml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomlkit
from tomlkit.exceptions import TOMLKitError

from holdfast import paths
from holdfast.errors import MissingError, StateError
from holdfast.files import atomic, document, lock

if TYPE_CHECKING:
    from pathlib import Path

    from tomlkit import TOMLDocument


def set_listed(name: str, **lists: bool) -> bool:
    """Add a handler to lists of the `[handlers]` table, or remove it; the file's comments and formatting stay.

    Args:
        name: the handler's name: its file name without `.py`.
        lists: `off` and `on`: whether the handler is to be in that list. Other lists stay as they are.

    Returns:
        Whether the file changed.

    Raises:
        StateError: the file can't be read or written, isn't TOML, or `off` or `on` isn't a list.
        OSError: its folder can't be created.
    """
    file = paths.user_config()
    with lock.locked(paths.ensure_private(file.parent)):
        content = _read(file)
        before = tomlkit.dumps(content)
        for key, there in lists.items():
            _put(file, content, key, name, there=there)
        text = tomlkit.dumps(content)
        if text != before:
            atomic.write(file, text.encode(), mode=0o600, follow=True)
    return text != before


def _read(file: Path) -> TOMLDocument:
    try:
        return tomlkit.parse(document.read(file)[0].decode("utf-8-sig"))
    except MissingError:
        return tomlkit.document()
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise StateError(file, f"is not TOML: {error}; correct it, then try again") from error


def _put(file: Path, content: TOMLDocument, key: str, name: str, *, there: bool) -> None:
    """Add a name to a list of the `[handlers]` table, or remove it; a list is created only to add a name."""
    handlers = content.get("handlers", {})
    listed = handlers.get(key, []) if isinstance(handlers, dict) else None
    if not isinstance(listed, list):
        raise StateError(file, f"'handlers.{key}' is not a list; correct it, then try again")
    if there == (name in listed):
        return
    if there:
        content.setdefault("handlers", tomlkit.table()).setdefault(key, tomlkit.array()).append(name)
    else:
        while name in listed:
            listed.remove(name)
