"""The pytest plugin for handler authors: write files, fire an event and assert the outcome, all in process.

    def test_guard(holdfast_project):
        project = holdfast_project({".claude/handlers/guard.py": GUARD})
        project.fire("PreToolUse", tool_name="Bash", tool_input={"command": "printenv"}).assert_denied("secrets")

Everything that Holdfast stores (trust, ledger, log) lies in the test's own folder. Handlers run in the test's process,
without isolation. An exception in a handler shows as a fault, and so does a time limit that the handler or your
configuration sets; the usual limit of 5 seconds doesn't count.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.testkit import reply

if TYPE_CHECKING:
    from pathlib import Path


_FUNCTION_HEAD = "from __future__ import annotations\n\nfrom holdfast import *\n"
Content = str | bytes | dict[str, Any] | list[Any] | Callable[..., Any]


@dataclass(frozen=True)
class Fired:
    """The result of one event.

    Attributes:
        stdout: the text the client would read.
        exit_code: the exit code the client would see.
        faults: `label: what went wrong` for each handler that failed.
        variables: the variables that would be appended to the environment file.
        path: the folders that would be appended to the model's PATH.
    """

    stdout: str
    exit_code: int
    faults: list[str] = field(default_factory=list)
    variables: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    @property
    def reply(self) -> dict[str, Any]:
        """The JSON object on stdout; empty if stdout is empty or plain text."""
        return reply.parsed(self.stdout)

    @property
    def specific(self) -> dict[str, Any]:
        """`hookSpecificOutput`; empty if there is none."""
        return reply.specific(self.stdout)

    @property
    def context(self) -> str:
        """The text that reaches the model as additional context; empty if there is none."""
        return str(self.specific.get("additionalContext", ""))

    def assert_silent(self) -> None:
        """Assert that nothing was printed and no handler failed."""
        assert (self.stdout, self.exit_code, self.faults) == ("", 0, [])

    def assert_denied(self, *words: str) -> None:
        """Assert that the call was denied with a reason that contains all words."""
        assert self.specific.get("permissionDecision") == "deny", self.stdout or "nothing was said"
        _assert_contains(self.specific["permissionDecisionReason"], words)

    def assert_advised(self, *words: str) -> None:
        """Assert that the model gets advice that contains all words."""
        _assert_contains(self.context, words)


class HoldfastProject:
    """A project folder in which you write files and fire events."""

    def __init__(self, root: Path, session: str = "11111111-1111-4111-8111-111111111111") -> None:
        """Use an existing folder as the project's root."""
        self.root = root
        self.session = session

    def write(self, files: Mapping[str, Content]) -> None:
        """Write files below the root.

        Args:
            files: relative path → text, bytes, a JSON value, or a function whose source is written below
                `from holdfast import *`.
        """
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source := _bytes(content))
            if source.startswith(b"#!"):
                path.chmod(0o755)

    def trust(self) -> None:
        """Trust the project's handlers and configuration as they are now."""
        from holdfast import engine, paths
        from holdfast.plugins import strict_memory

        files = [*paths.project_handlers(self.root).glob("*"), paths.project_config(self.root)]
        contents = {path: path.read_bytes() for path in files if path.is_file()}
        strict_memory.trust_files(engine.CLIENT, self.root, contents)

    def fire(self, event: str, /, recorded: str | None = None, **changes: Any) -> Fired:
        """Send one event through the loader, the handlers and the merging.

        Args:
            event: the event's name.
            recorded: the recorded payload to start from (`PreCompact-manual`). By default the event's first recording
                or, if there is none, a payload with only the common fields.
            changes: payload fields to set.
        """
        from holdfast.testkit import recorded as payloads

        return self.send(payloads.sent(recorded or event, self.session, self.root, **changes))

    def send(self, payload: dict[str, Any]) -> Fired:
        """Send one payload as it is; see `fire`."""
        from holdfast import engine, log
        from holdfast.config import Config
        from holdfast.dispatch import notices, reply_log, strict
        from holdfast.dispatch.reply import conclude
        from holdfast.dispatch.run import Run
        from holdfast.plugins import discovery
        from holdfast.plugins.context import Context

        environ = {"CLAUDE_PROJECT_DIR": str(self.root), "CLAUDECODE": "1"}
        project = engine.open_project(environ)
        plan, event = engine.prepare(payload, project, discovery.find(engine.CLIENT, project, for_event=True))
        if not plan or event is None:
            return Fired("", 0)
        usual = project.config.handlers.timeout
        if usual == Config().handlers.timeout:  # a test must hold on a busy machine
            usual = math.inf
        with Run(engine.CLIENT, event, Context(project, environ), usual, math.inf, isolate=False) as run:
            answers = run.answers(plan)
            answers += strict.recheck(engine.CLIENT, run.call_again, event, plan, answers)
        conclusion = conclude(engine.CLIENT, event, plan, answers)
        run.deliver(conclusion.delivered)
        reply_log.note(project, event, conclusion)
        noticed = notices.of_answers(plan, answers, {})
        notices.note_activity(plan, answers)
        notices.record(event.hook_event_name, noticed, session=event.session_id)
        project.close()
        log.write("debug", f"fired {event.hook_event_name}")
        failed = [f"{answer.label}: {answer.fault}" for answer in answers if answer.fault]
        merged = conclusion.reply
        return Fired(merged.stdout, merged.exit_code, failed, merged.variables, merged.path)


@pytest.fixture
def holdfast_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Mapping[str, Content]], HoldfastProject]:
    """Return a function that creates a project from files; HOME and the XDG folders lie in the test's own folder."""
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def make(files: Mapping[str, Content] | None = None) -> HoldfastProject:
        root = tmp_path / "project"
        (root / ".claude").mkdir(parents=True, exist_ok=True)
        project = HoldfastProject(root)
        project.write(files or {})
        return project

    return make


def _bytes(content: Content) -> bytes:
    if callable(content):
        content = f"{_FUNCTION_HEAD}\n\n{dedent(inspect.getsource(content))}"
    if isinstance(content, (dict, list)):
        content = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return content.encode() if isinstance(content, str) else content


def _assert_contains(text: str, words: tuple[str, ...]) -> None:
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in {text!r}"
