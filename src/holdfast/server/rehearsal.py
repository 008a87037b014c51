"""Going through the motions of an event without any effect, so that a forked process has its memory ready.

What a process forked from the server reads and writes for the first time the system maps or copies, a page at a
time. That takes longer than all of Holdfast's own work on an event, so both children do it before the event comes.
"""

from __future__ import annotations

import json
import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import engine, events, log, paths
from holdfast.config import Config
from holdfast.dispatch import calls, intake, isolation, pairing
from holdfast.dispatch.calls import Caller
from holdfast.ledger.connection import memory
from holdfast.ledger.database import Ledger
from holdfast.ledger.patience import Patience
from holdfast.plugins import bytecode_cache, loader
from holdfast.plugins.context import Context
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import scan
from holdfast.project import Project
from holdfast.server import ahead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.events.event import Event

_NOWHERE = Path("/")
_SOURCE = b"""from holdfast import advise, hookimpl
@hookimpl(match="Bash")
def on_pre_tool_use(event, context):
    return advise("rehearsed")
@hookimpl
def on_post_tool_use(event, context):
    return advise("rehearsed")
@hookimpl
def on_user_prompt_submit(event, context):
    return advise("rehearsed")
"""
_ROUTES = scan(_SOURCE).routes
_FILE = Path(__file__).with_name("rehearsed")
_PAYLOADS: tuple[dict[str, Any], ...] = (
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}},
    {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": ""}},
    {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."},
)


def prepare() -> None:
    """Make ready, in the server, what its children's rehearsals need."""
    bytecode_cache.hold(_SOURCE, _FILE)
    for _ in _events():
        pass


def of_engine() -> None:
    """Rehearse what a child does itself: reading an event, finding its handlers, merging what they say."""
    with suppress(Exception):  # what is wrong shows when an event comes
        project = Project(_NOWHERE, Config())
        for event, payload in _events():
            intake.foreign(payload, os.environ)
            pairing.source(os.environ)
            _choose(payload)
            plan = _plan(event)
            answers = [isolation.from_wire(json.loads(json.dumps(each))) for each in _wired(event, plan, project)]
            engine.conclude(event, plan, answers)
            log.write("debug", "")
    log.set_project(None)


def of_handlers() -> None:
    """Rehearse what a handlers' child does: taking over its work, loading, calling, asking a ledger."""
    with suppress(Exception):
        project = Project(_NOWHERE, Config())
        for event, payload in _events():
            _choose(payload)
            for answer in _wired(event, _plan(event), project):
                json.dumps(answer)
        for file in loader.offered("shipped", paths.shipped("handlers")):
            if file.active:
                loader.load(file)
        ledger = Ledger(memory(), None, Patience(), lambda problem: None)
        ledger.rows("SELECT name FROM sqlite_master WHERE type = ? ORDER BY name", "")
        ledger.close()
        calls.keep_managers(route.function for route in _ROUTES)
    log.set_project(None)


def _choose(payload: dict[str, Any]) -> None:
    """Find what an event would call, in a project that has nothing of its own."""
    name = payload["hook_event_name"]
    _, found = ahead.look({"CLAUDE_PROJECT_DIR": str(_NOWHERE)}, name)
    engine.choose(pickle.loads(pickle.dumps(payload, pickle.HIGHEST_PROTOCOL)), found)


def _events() -> Iterator[tuple[Event, dict[str, Any]]]:
    for payload in _PAYLOADS:
        sent = {"session_id": "rehearsed", "cwd": "/", "transcript_path": "", **payload}
        read = json.loads(json.dumps(sent).encode().decode("utf-8-sig"))
        yield events.parse(read), read


def _plan(event: Event) -> list[Call]:
    file = HandlerFile("shipped", "rehearsed", _FILE, _SOURCE, "", trusted=True, off=False)
    return [Call(file, route) for route in _ROUTES if route.event == event.hook_event_name]


def _wired(event: Event, plan: list[Call], project: Project) -> list[dict[str, Any]]:
    caller = Caller(event, Context(project, os.environ), lambda call: 1.0)
    return [isolation.to_wire(answer) for answer in caller.answers(plan)]
