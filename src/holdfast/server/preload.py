"""Load everything that events need, once, before the server forks; and notice when those files change."""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from holdfast import engine, paths
from holdfast.files.redact import redact
from holdfast.formats import OURS, RECORDS, module
from holdfast.plugins import discovery, loader
from holdfast.process import age

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDERS = ("clients.claude", "dispatch", "plugins", "sessions", "workflow", "trail", "files", "memory", "process")
_OTHERS = ("sqlite3", "json", "hashlib", "tomllib", "uuid", "shlex", "marshal", "difflib", "subprocess", "platformdirs")
_ENCODINGS = ("encodings.utf_8_sig", "encodings.utf_16_le", "encodings.ascii", "encodings.latin_1")
LOAD_TIME_S = 0.03
"""Within this time after its start a process can't have read any of Holdfast's files; `process.age` is less exact."""


def load_all() -> None:
    """Import the hook path and the shipped handlers, build the models, and freeze all of it for the children."""
    modules = [each for folder in _FOLDERS for each in _modules(f"holdfast.{folder}")]
    for name in (*_OTHERS, *_ENCODINGS, *modules):
        with suppress(ImportError):  # a package that is missing is reported by what needs it
            import_module(name)
    for name in OURS:
        import_module(RECORDS[name].MODULE)
        if RECORDS[name].SOURCES:
            import_module(module(name, "detector"))
    for model in _subclasses(BaseModel):
        if model.__module__.startswith("holdfast."):
            model.model_rebuild()
    for file in discovery.offered(engine.CLIENT, "shipped", paths.shipped("handlers")):
        loader.preload_file(file)
    loader.preload(engine.CLIENT)
    redact("a.b")  # compiles the patterns that every logged name is matched against
    gc.collect()
    gc.freeze()  # the collector never touches these objects again, so children share their memory


def _modules(folder: str) -> Iterator[str]:
    top = Path(import_module(folder).__path__[0])
    for file in top.rglob("[!_]*.py"):
        yield ".".join((folder, *file.relative_to(top).with_suffix("").parts))


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _subclasses(each)


class Stamp:
    """The state on disk of what is loaded: Holdfast's files, other packages' folders, interpreter and configuration.

    Checking all of it takes 2 ms in a fresh child. Checking only the
    folders, which every installer changes, takes 0.2 ms.
    """

    def __init__(self, entry: str) -> None:
        """Look at everything that is loaded, and at the entrypoint's file."""
        started = time.time() - age() + LOAD_TIME_S
        loaded = {each.__name__: getattr(each, "__file__", None) or "" for each in list(sys.modules.values())}
        ours = {file for name, file in loaded.items() if file and name.startswith(("holdfast.", "holdfast_handlers."))}
        others = {file for file in loaded.values() if "site-packages" in file}
        single = {os.path.realpath(sys.executable), entry, str(paths.format_index())}
        single |= {str(paths.user_config()), str(paths.managed_config())}
        self._few = {each: _look(each) for each in single | {str(Path(file).parent) for file in ours | others}}
        self._all = {each: _look(each) for each in ours} | self._few
        changed = (file for file in {*ours, entry} if not (found := self._all[file]) or found[1] > started * 1e9)
        self.changed_while_loading = next(changed, "")

    def changed(self, *, whole: bool) -> str:
        """Return the first path that has changed, or nothing. Only a `whole` look sees files edited in place."""
        return next((path for path, seen in (self._all if whole else self._few).items() if _look(path) != seen), "")


def _look(file: str) -> tuple[int, int] | None:
    with suppress(OSError):
        found = os.stat(file)  # noqa: PTH116 - hundreds of them
        return found.st_ino, found.st_mtime_ns
    return None
