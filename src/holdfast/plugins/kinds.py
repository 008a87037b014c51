"""The kinds of handler file: Python, a rule in TOML, a script in any language. Each is read in its own way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.plugins import scan

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.scan import Scan

RULE_SUFFIX = ".toml"


def is_handler(path: Path) -> bool:
    """Return whether a file of a handlers folder is a handler by its name or, with any other name, as a program."""
    if path.name[0] in "_.":
        return False
    return path.suffix in (".py", RULE_SUFFIX) or (os.access(path, os.X_OK) and path.is_file())


def is_helper(name: str) -> bool:
    """Return whether a file of a handlers folder is no handler but may be imported by one: `_name.py`."""
    return name.startswith("_") and name.endswith(".py") and name != "__init__.py"


def declares(name: str, source: bytes, hooks: Hooks) -> Scan:
    """Return a handler file's declarations, without running any of it.

    Args:
        name: its file name.
        source: its bytes.
        hooks: the client's hooks, which it may answer.
    """
    if name.endswith(RULE_SUFFIX):
        from holdfast.plugins import rules

        return rules.scan(source, hooks)
    if is_python(name, source):
        return scan.scan(source, hooks)
    from holdfast.plugins import executables

    return executables.scan(source, hooks)


def is_python(name: str, source: bytes) -> bool:
    """Return whether a file is a Python handler: `.py`, and no script that declares itself one."""
    if not name.endswith(".py"):
        return False
    if not source.startswith(b"#!"):
        return True
    from holdfast.plugins import executables

    return not executables.is_script(source)
