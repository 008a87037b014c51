"""The kinds of handler file: Python, a rule in TOML, a script in any language. Each is read and loaded its own way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.plugins import loader, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.dispatch.client import Client
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.scan import Route, Scan

RULE_SUFFIX = ".toml"


def is_handler(path: Path) -> bool:
    """Return whether a file of a handlers folder is a handler by its name or, with any other name, as a program."""
    if path.name[0] in "_.":
        return False
    return path.suffix in (".py", RULE_SUFFIX) or (os.access(path, os.X_OK) and path.is_file())


def declares(name: str, source: bytes, hooks: Hooks) -> Scan:
    """Return what a handler file declares, without running any of it.

    Args:
        name: its file name.
        source: its bytes.
        hooks: the client's hooks, which it may answer.
    """
    if name.endswith(RULE_SUFFIX):
        from holdfast.plugins import rules

        return rules.scan(source, hooks)
    if _is_python(name, source):
        return scan.scan(source, hooks)
    from holdfast.plugins import executables

    return executables.scan(source, hooks)


def function(client: Client, file: HandlerFile, route: Route) -> Callable[..., Any]:
    """Load a handler file, and return the function that answers one of its events.

    Args:
        client: the client whose event it is.
        file: an active handler file.
        route: the event that it answers.

    Raises:
        BaseException: whatever a Python file raises, SyntaxError included.
    """
    loaded: Callable[..., Any]
    if file.path.suffix == RULE_SUFFIX:
        from holdfast.plugins import rules

        return rules.function(file)
    if _is_python(file.path.name, file.source):
        loaded = getattr(loader.load(file), route.function)
        return loaded
    from holdfast.plugins import executables

    return executables.function(client, file, route)


def _is_python(name: str, source: bytes) -> bool:
    if not name.endswith(".py"):
        return False
    if not source.startswith(b"#!"):
        return True
    from holdfast.plugins import executables

    return not executables.is_script(source)
