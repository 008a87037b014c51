"""Loading, once and before any event, all that events need."""

from __future__ import annotations

import ast
import gc
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from pydantic import BaseModel

from holdfast import events, paths
from holdfast.formats import RECORDS
from holdfast.plugins import loader
from holdfast.server import rehearsal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENGINE = (
    "engine",
    "server.serving",
    "server.spare",
    "dispatch.isolation",
    "dispatch.calls",
    "plugins.context",
    "dispatch.merging",
    "plugins.outcomes",
    "dispatch.budget",
    "dispatch.costs",
    "trust",
    "project",
    "ledger.database",
    "ledger.connection",
    "ledger.schema",
    "ledger.spent",
    "events.event",
    "dispatch.tracing",
    "terminal_text",
)
_STANDARD = ("sqlite3", "json", "hashlib", "tomllib", "uuid", "shlex", "marshal", "pickle", "difflib", "subprocess")
_ENCODINGS = ("encodings.utf_8_sig", "encodings.utf_16_le", "encodings.ascii", "encodings.latin_1")
_PACKAGES = ("pluggy", "pydantic", "platformdirs", *_STANDARD, *_ENCODINGS)


def warm_up() -> None:
    """Load the framework, the model of every event and what the shipped handlers import; then freeze it.

    A package that is not there costs only itself here: whatever needs it says so.
    """
    wanted = [f"holdfast.{name}" for name in _ENGINE]
    wanted += [*_PACKAGES, *set(events.EVENTS.values())]
    wanted += [record.ADAPTER for record in RECORDS.values()]  # handlers ask for them by name
    for file in sorted(paths.shipped("handlers").glob("*.py")):
        wanted += imported(file)
    for name in wanted:
        with suppress(ImportError):
            import_module(name)
    _build_models()
    rehearsal.prepare()
    loader.preload()
    rehearsal.of_engine()
    gc.collect()
    gc.freeze()  # what is there now is never looked through again, so that children share its memory


def imported(file: Path) -> list[str]:
    """Return the modules of ours that a handler's file may import, also inside its functions.

    Names that are no modules are among them. Raises OSError, SyntaxError.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "holdfast":
            found += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return found


def _build_models() -> None:
    """Have every model ready that pydantic would else finish at its first use, in each child anew."""
    for model in _subclasses(BaseModel):
        if model.__module__.partition(".")[0] == "holdfast":
            model.model_rebuild()


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _subclasses(each)
