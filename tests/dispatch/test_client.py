"""Dispatching and sessions know a client only as an object: another client, with its own events, is answered too."""

from __future__ import annotations

import ast
import json
import os
import re
import time
from dataclasses import dataclass, replace
from random import Random
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from holdfast import engine, paths
from holdfast.clients import claude
from holdfast.clients.claude import EVENTS, HOOK_NAMES
from holdfast.dispatch.budget import join_texts
from holdfast.dispatch.output import Reply, Streams
from holdfast.errors import EventError
from holdfast.files.agent_runs import NoRuns
from holdfast.files.transcript import Answer, Run, Trail, Unread
from holdfast.plugins.outcomes import Outcome, deny
from holdfast.project import OpenProject
from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from holdfast.dispatch.client import Client
    from holdfast.files.agent_runs import AgentRuns
    from holdfast.files.transcript import Transcripts

SOURCE = ROOT / "src" / "holdfast"
BELOW = (
    "plugins",
    "dispatch",
    "server",
    "workflow",
    "formats",
    "trail",
    "sessions",
    "ledger",
    "files",
    "process",
    "log.py",
    "project.py",
)
VARIABLES = {"CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE", "CLAUDE_PID"}
THEIRS = {*EVENTS, *HOOK_NAMES, *VARIABLES, claude.NAME, claude.EVENT_KEY}
ENTRY = re.compile(
    r"toolUseResult|isSidechain|isMeta|isCompact|compact_boundary|tool_(?:use|result)\b|task-notification"
)
NAME = "".join(Random(time.time_ns()).choices(ascii_lowercase, k=12))


@dataclass(frozen=True)
class Toggled:
    """The one event of the toy client."""

    accepts: ClassVar[frozenset[str]] = frozenset({"advise", "deny", "title"})
    deadline: ClassVar[float] = 30.0

    hook_event_name: str
    session_id: str
    lamp: str
    label: str = ""
    reaches_agent: bool = False
    in_subagent: bool = False
    transcript_path: str = "/where/lamps/are"

    @property
    def matcher_value(self) -> str:
        """The lamp."""
        return self.lamp


class Lamps(Unread):
    """The toy client's transcripts: each is a lamp that was lit."""

    def tail(self, path: str) -> list[dict[str, Any]]:
        return [{"lit": path}]

    def trail(self, entries: Sequence[dict[str, Any]]) -> Trail:
        lit = tuple(f"Light the lamp in {each['lit']}." for each in entries)
        return Trail(
            requests=lit, runs=(Run("light", "no oil"),), statements=("I chose the red one.", Answer("Red?", "Yes"))
        )


class Toy:
    """A client with one event, keys, variables and a reply of its own."""

    EVENTS: ClassVar = {NAME}
    HOOK_NAMES: ClassVar = {f"on_{NAME}": NAME}
    STRICT_EVENTS: ClassVar = {NAME}
    SOURCES = (__file__,)
    NAME, EVENT_KEY, SESSION_KEY = "toy", "what", "whose"
    START_EVENT, PROMPT_EVENT, CALL_EVENT = "begun", "said", "called"
    ROOT_VARIABLE, PLUGIN_VARIABLE, ENVIRONMENT_VARIABLE = "TOY_ROOT", "TOY_PLUGIN", "TOY_VARIABLES"

    def modules(self, events: Collection[str]) -> Collection[str]:
        return ()

    def longest_limit_s(self, event: str) -> float:
        return 60.0

    def matches(self, matcher: str | None, value: str | None, event: str) -> bool:
        return matcher is None or value is None or matcher == value[::-1]  # backwards, as no other client does

    def valid(self, matcher: str | None, event: str) -> bool:
        return True

    def never(self, matcher: str, event: str) -> str:
        return ""

    def doubt(self, matcher: str | None, event: str) -> str:
        return ""

    def also_answers(self, event: str, matcher: str | None) -> str:
        return ""

    def foreign(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> str:
        return "" if "what" in payload else "not a toy's"

    def matched(self, event: str, payload: Mapping[str, Any]) -> str | None:
        return payload.get("lamp")

    def parse(self, payload: object) -> Toggled:
        if not isinstance(payload, dict) or "lamp" not in payload:
            raise EventError("no lamp")
        return Toggled(payload["what"], payload["whose"], payload["lamp"])

    def given_input(self, event: Toggled) -> object:
        return None

    def changed(self, event: Toggled, said: Sequence[Outcome]) -> Toggled:
        return replace(event, label=next((each.text for each in said if each.kind == "title"), event.label))

    def as_called(self, event: Toggled, matcher: str | None) -> Toggled:
        return event

    def as_said(
        self, event: Toggled, called: Toggled, said: Sequence[Outcome]
    ) -> tuple[tuple[Outcome, ...], tuple[tuple[str, str], ...]]:
        return tuple(said), ()

    def refusal(self, event: str, reason: str) -> Outcome:
        return deny(reason)

    def merge(self, event: str, outcomes: Sequence[Outcome]) -> Reply:
        no = join_texts(outcomes, "deny")
        return Reply(stdout=f"NO {no}" if no else f"OK {join_texts(outcomes, 'advise')}" if outcomes else "")

    def unanswered(self, event: str) -> str:
        return ""

    def process(self, environ: Mapping[str, str]) -> str | None:
        return environ["TOY_PROCESS"]

    def attended(self, environ: Mapping[str, str]) -> bool:
        return True

    def marks_agents(self, environ: Mapping[str, str]) -> bool:
        return True

    def reader(self) -> Transcripts:
        return Lamps()

    def agent_runs(self) -> AgentRuns:
        return NoRuns()

    def rehearsal(self) -> tuple[bytes, Sequence[Mapping[str, Any]]]:
        return b"", ()


class Kept(Streams):
    """Streams that keep the reply."""

    def __init__(self) -> None:
        self.private, self.replies = (), list[Reply]()

    def write(self, reply: Reply) -> None:
        self.written = True
        self.replies.append(reply)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of the toy client's, whose events are answered now."""
    toy: Client = Toy()
    monkeypatch.setattr(engine, "CLIENT", toy)
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def handler(name: str, text: str) -> None:
    """Write a handler file of the user's."""
    path = paths.ensure_private(paths.user_handlers()) / f"{name}.py"
    path.write_text(f"from holdfast import advise, deliver, deny, hookimpl, sessions, title\n{text}", "utf-8")


def fire(root: Path, lamp: str) -> str:
    """Answer the toy client's event, and return what it reads."""
    streams = Kept()
    payload = {"what": NAME, "whose": "me", "lamp": lamp}
    environ = {"TOY_ROOT": str(root), "TOY_PROCESS": str(os.getpid())}
    assert engine.answer(payload, environ, time.monotonic(), streams) == 0
    return "".join(reply.stdout for reply in streams.replies)


def test_a_client_with_other_events_is_answered(root: Path) -> None:
    """Its names, matchers, models and replies are used, and what one handler changes the next one sees."""
    handler("a", f"@hookimpl(match='pmal')\ndef on_{NAME}(event): return title('seen'), advise(event.lamp)\n")
    handler("b", f"@hookimpl\ndef on_{NAME}(event): return advise(f'label={{event.label}}')\n")
    handler("c", "@hookimpl\ndef on_pre_tool_use(event): return deny('of another client')\n")

    assert fire(root, "lamp") == "OK lamp\n\nlabel=seen"
    assert fire(root, "other") == "OK label="


def test_its_strict_handlers_refuse_in_its_words(root: Path) -> None:
    """A strict handler that fails is a refusal, as the client puts it."""
    handler("guard", f"@hookimpl(strict=True)\ndef on_{NAME}(event): raise ValueError('no light')\n")

    assert fire(root, "lamp").startswith("NO Refused, because a strict handler could not check it: user/guard.py")


def test_input_of_its_own_is_read_and_that_of_others_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From stdin to the reply: its keys and variables count, Claude Code's do not."""
    handler("a", f"@hookimpl\ndef on_{NAME}(event): return advise('hello')\n")
    monkeypatch.setenv("TOY_ROOT", str(root))
    for payload, said in (
        ({"what": NAME, "whose": "me", "lamp": "x"}, ["OK hello"]),
        ({"hook_event_name": "Stop"}, []),
    ):
        reading, writing = os.pipe()
        os.write(writing, json.dumps(payload).encode())
        os.close(writing)
        kept, before = Kept(), os.dup(0)
        os.dup2(reading, 0)
        try:
            assert engine.dispatch(None, lambda kept=kept: kept, time.monotonic()) == 0  # type: ignore[misc]
        finally:
            os.dup2(before, 0)
            os.close(before)
            os.close(reading)
        assert [reply.stdout for reply in kept.replies] == said


def test_sessions_ask_the_client_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process and its name are noted; which event a session begins with, and what it did, the client tells."""
    text = f"@hookimpl\ndef on_{NAME}(event, context):\n"
    text += "    known = sessions.join(event, context)\n"
    text += "    assert not sessions.compacts_agent(event, context)\n"
    handler("a", f"{text}    return deliver(sessions.restore(event, context, known=known))\n")

    told = fire(root, "lamp")

    for fact in ("Light the lamp in /where/lamps/are.", "light: no oil", "I chose the red one.", "Red? → Yes"):
        assert fact in told
    (session,) = OpenProject.open(root).ledger.rows("SELECT id, client, process FROM sessions")
    assert session == {"id": "me", "client": "toy", "process": os.getpid()}
    monkeypatch.setattr(Toy, "PROMPT_EVENT", NAME)
    assert fire(root, "lamp") == "", "a prompt gives no trail: it was not lost"


def names(path: Path) -> set[str]:
    """Return the texts of a module, docstrings apart, that are a name of Claude Code's or hold a transcript's words."""
    tree = ast.parse(path.read_bytes())
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, scopes)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} - docs
    said = {text.decode("latin-1") if isinstance(text, bytes) else text for text in texts}
    return {text for text in said if isinstance(text, str) and (text in THEIRS or ENTRY.search(text))}


@each_row("place", BELOW)
def test_nothing_of_claude_code_is_named_below_the_entry(place: str) -> None:
    """What lies below the entry module names no event, handler function, variable or transcript's entry of its."""
    files = [SOURCE / place] if place.endswith(".py") else [*(SOURCE / place).rglob("*.py")]
    assert files
    assert {path.name: found for path in files if (found := names(path))} == {}
