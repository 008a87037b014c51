"""Prepare for events: the server loads all modules once, and each forked process rehearses an event.

A rehearsal does everything that an event does, without any effect. A forked process must map or copy each memory page
when it first uses it. That takes longer than all of Holdfast's own work on an event, so both child processes do it
before the event comes. Even calling a function writes to memory: Python counts references to the function, its code and
its constants in the objects themselves.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import pickle
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from holdfast import config, engine, log, paths
from holdfast.config import Config
from holdfast.dispatch import calls, conclusion, costs, duplicates, faults, intake, isolation
from holdfast.dispatch.calls import Caller
from holdfast.files.redact import redact
from holdfast.formats import OURS, RECORDS, module
from holdfast.ledger.database import Ledger
from holdfast.plugins import bytecode_cache, loader
from holdfast.plugins.context import Context
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import scan
from holdfast.process.child import Child, write
from holdfast.project import OpenProject
from holdfast.server import handlers_child

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.dispatch.calls import Answer
    from holdfast.dispatch.client import Event

_ENGINE = (
    "engine",
    "server.turn",
    "server.handlers_child",
    "dispatch.isolation",
    "dispatch.calls",
    "plugins.context",
    "plugins.outcomes",
    "dispatch.budget",
    "dispatch.costs",
    "files.trust",
    "project",
    "ledger.database",
    "ledger.connection",
    "ledger.schema",
    "ledger.context_costs",
    "ledger.event_log",
    "dispatch.trace",
    "process.terminal_text",
)
# The public API loads modules of these folders when it is called; a handler's imports don't tell which.
_BEHIND_HANDLERS = ("sessions", "workflow", "trail", "files")
_STANDARD = ("sqlite3", "json", "hashlib", "tomllib", "uuid", "shlex", "marshal", "pickle", "difflib", "subprocess")
_ENCODINGS = ("encodings.utf_8_sig", "encodings.utf_16_le", "encodings.ascii", "encodings.latin_1")
_PACKAGES = ("pluggy", "pydantic", "platformdirs", *_STANDARD, *_ENCODINGS)
ROOM_BYTES = 512 * 1024
"""Memory that a handlers' child has ready for new objects; all of it counts as the server's."""
_BLOCK_BYTES = 256  # small enough for the memory from which Python makes objects
_NOWHERE = Path("/")
_SOURCE, _PAYLOADS = engine.CLIENT.rehearsal()
_ROUTES = scan(_SOURCE, engine.CLIENT).routes
_FILE = Path(__file__).with_name("rehearsed")


def warm_up() -> None:
    """Load the framework and everything that the shipped and the user's handlers may use; then freeze it.

    What only a project's handlers need, or later ones, is loaded in each event of theirs, such as the model of an event
    that nobody else wants. All of that would be a tenth of the memory. A missing package is skipped here; what needs
    it reports it.
    """
    files = _known_handlers()
    wanted = [f"holdfast.{name}" for name in _ENGINE]
    wanted += [*_PACKAGES, *engine.CLIENT.modules({route.event for file in files for route in file.routes})]
    wanted += [RECORDS[name].ADAPTER for name in OURS]  # loaded by name, so no import shows them
    wanted += [module(name, "detector") for name in OURS if RECORDS[name].SOURCES]
    wanted += [name for folder in _BEHIND_HANDLERS for name in _modules(folder)]
    for file in sorted(paths.shipped("handlers").glob("*.py")):
        wanted += imported(file)
    for name in wanted:
        _load(name)
    _build_models()
    prepare()
    loader.preload()
    of_engine()
    gc.collect()
    gc.freeze()  # the collector never touches these objects again, so children share their memory


def _known_handlers() -> list[HandlerFile]:
    """Return the shipped and the user's handlers that run, as the user's configuration has it."""
    project = OpenProject(_NOWHERE, config.load(None, trusted=False).config, client=engine.CLIENT)
    return [each for each in loader.find(engine.CLIENT, project) if each.active]


def imported(file: Path) -> list[str]:
    """Return the modules of Holdfast that a handler's file imports, including imports inside functions.

    The names may include functions and classes. Raises OSError, SyntaxError.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "holdfast":
            found += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return found


def _load(name: str) -> None:
    """Load a module; if the name is an attribute of one (`holdfast.upkeep`), get that, which loads its module."""
    try:
        import_module(name)
    except ImportError:
        home, _, given = name.rpartition(".")
        with suppress(ImportError, AttributeError, ValueError):
            getattr(import_module(home), given)


def _modules(folder: str) -> Iterator[str]:
    """Yield the modules in a folder of the package and in its subfolders."""
    top = Path(import_module(f"holdfast.{folder}").__path__[0])
    for file in sorted(top.rglob("[!_]*.py")):  # not `__init__`: a package loads with its modules
        yield ".".join(("holdfast", folder, *file.relative_to(top).with_suffix("").parts))


def _build_models() -> None:
    """Finish every pydantic model now; otherwise each child process would do so at first use."""
    for model in _subclasses(BaseModel):
        if model.__module__.partition(".")[0] == "holdfast":
            model.model_rebuild()


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _subclasses(each)


def prepare() -> None:
    """Prepare in the server what its children's rehearsals need, and the pattern that every logged name is tried on."""
    bytecode_cache.hold(_SOURCE, _FILE)
    redact(f"{_FILE}.py")  # a name with a dot, as nearly every line of the log has
    for _ in _events():
        pass


def of_engine() -> None:
    """Rehearse what a worker does itself: read an event, find its handlers and merge their answers."""
    with suppress(Exception):  # a real event will show what is wrong
        project = OpenProject(_NOWHERE, Config(), client=engine.CLIENT)
        for event, payload in _events():
            with Path(os.devnull).open("rb") as nothing:
                intake.read(nothing.fileno(), bytearray(json.dumps(payload).encode()))
            engine.CLIENT.foreign(payload, os.environ)
            duplicates.source(engine.CLIENT, os.environ)
            _choose(payload)
            plan = _plan(event)
            answers = _reported(_wired(event, plan, project))
            engine.deadline(event, project.config.handlers, 0.0, plan)
            conclusion.judge_again(engine.CLIENT, lambda calls: [], event, plan, answers)
            answers += faults.tell(event, plan, answers, {})
            reply, said, _ = conclusion.conclude(engine.CLIENT, event, plan, answers)
            costs.of(reply, [label for label, _ in said])
            log.write("debug", "")
    log.set_project(None)


def _reported(messages: Sequence[dict[str, Any]]) -> list[Answer]:
    """Return the answers in a child's messages, read as from a child."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    for each in messages:
        write(writing, each)
    child = Child(0, reading, -1, writing)
    try:
        return [isolation.from_wire(child.receive(time.monotonic() + 1.0, bytearray()) or {}) for _ in messages]
    finally:
        child.close()


def of_handlers() -> None:
    """Rehearse what a handlers' child does: take over its work, load handlers, call them and read a ledger."""
    with suppress(Exception):
        project = OpenProject(_NOWHERE, Config(), client=engine.CLIENT)
        for event, payload in _events():
            _choose(payload)
            for answer in _wired(event, _plan(event), project):
                json.dumps(answer)
        _call_shipped()
        calls.keep_managers(route.function for route in _ROUTES)
        make_room()
    log.set_project(None)


def make_room() -> None:
    """Map the memory for what an event makes. A run of 500 tasks takes about so much; each page takes microseconds."""
    made = [bytes(_BLOCK_BYTES - sys.getsizeof(b"")) for _ in range(ROOM_BYTES // _BLOCK_BYTES)]
    made.clear()  # Python keeps the last megabyte that it has mapped


def _call_shipped() -> None:
    """Load the shipped handlers, and call those that answer the client's payloads, in a project without any files.

    They find nothing there, and what they note goes into a ledger in memory.
    """
    files = [each for each in loader.offered(engine.CLIENT, "shipped", paths.shipped("handlers")) if each.active]
    for file in files:
        loader.keep(file)
    project = OpenProject(Path(os.devnull), Config(), client=engine.CLIENT)
    with Ledger.open(None) as ledger:
        vars(project)["ledger"] = ledger
        for event, _ in _events():
            for call in loader.plan(engine.CLIENT, files, event.hook_event_name, event.matcher_value):
                with suppress(Exception):  # a real event will show what is wrong
                    getattr(sys.modules[loader.module_name(call.file)], call.route.function)(
                        event, Context(project, os.environ)
                    )


def _choose(payload: dict[str, Any]) -> None:
    """Choose the handlers for a payload in a project without handlers of its own."""
    name = payload[engine.CLIENT.EVENT_KEY]
    _, seen = handlers_child.look({engine.CLIENT.ROOT_VARIABLE: str(_NOWHERE)})
    found = seen.files(name, engine.CLIENT.matched(name, payload))
    engine.choose(pickle.loads(pickle.dumps(payload, pickle.HIGHEST_PROTOCOL)), found)


def _events() -> Iterator[tuple[Event, dict[str, Any]]]:
    for payload in _PAYLOADS:
        read = json.loads(json.dumps(payload).encode().decode("utf-8-sig"))
        yield engine.CLIENT.parse(read), read


def _plan(event: Event) -> list[Call]:
    file = HandlerFile("shipped", "rehearsed", _FILE, _SOURCE, "", trusted=True, off=False)
    return [Call(file, route) for route in _ROUTES if route.event == event.hook_event_name]


def _wired(event: Event, plan: list[Call], project: OpenProject) -> list[dict[str, Any]]:
    caller = Caller(engine.CLIENT, event, Context(project, os.environ), lambda call: 1.0)
    return [isolation.to_wire(answer) for answer in caller.answers(plan)]
