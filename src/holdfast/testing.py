"""The pytest plugin for handler authors: write files, fire an event and assert the outcome, all in process.

    def test_guard(holdfast_project):
        project = holdfast_project({".claude/handlers/guard.py": GUARD})
        project.trust()
        project.fire("PreToolUse", tool_name="Bash", tool_input={"command": "printenv"}).assert_denied("secrets")
        project.fire("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}).assert_silent()

A mistake doesn't pass for silence. An unknown event or field raises HoldfastError, and so does a handler file that is
untrusted or has a fault. `assert_silent` wants a handler of the project to have been called.

Everything that Holdfast stores (trust, ledger, log) lies in the test's own folder. Handlers run in the test's process,
without isolation. An exception in a handler shows as a fault, and so does a time limit that the handler or your
configuration sets; the usual limit of 5 seconds doesn't count. `HoldfastProject.advance` moves Holdfast's clock and
`time.time()` in handlers, but not `datetime.now()`.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import PurePath
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.testkit import reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile


_FUNCTION_HEAD = "from __future__ import annotations\n\nfrom holdfast import *\n"
Content = str | bytes | dict[str, Any] | list[Any] | Callable[..., Any]


@dataclass(frozen=True)
class Fired:
    """The result of one event.

    Attributes:
        stdout: the text the client would read.
        exit_code: the exit code the client would see.
        faults: `label: what went wrong` for each handler that failed.
        called: the labels of the functions that were called, such as `project/guard.py: on_pre_tool_use`.
        variables: the variables that would be appended to the environment file.
        path: the folders that would be appended to the model's PATH.
    """

    stdout: str
    exit_code: int
    faults: list[str] = field(default_factory=list)
    variables: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    called: list[str] = field(default_factory=list)

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

    def assert_called(self, *names: str) -> None:
        """Assert that handlers were called.

        Args:
            names: the handlers, each without `.py`; by default any that isn't shipped.
        """
        assert not self.faults
        known = self._names(names)
        who = ", ".join(sorted({*names} - known)) or "a handler of the project"
        assert known >= {*names} and known, f"{who} wasn't called; called were {self.called or 'none'}"

    def assert_not_called(self, *names: str) -> None:
        """Assert that handlers weren't called (`assert_called`), because no matcher selected the event."""
        assert not self._names(names) & set(names or self._names(())), self.called

    def assert_silent(self, *names: str) -> None:
        """Assert that handlers were called (`assert_called`), nothing was printed and none failed."""
        assert (self.stdout, self.exit_code, self.faults) == ("", 0, [])
        self.assert_called(*names)

    def assert_denied(self, *words: str) -> None:
        """Assert that the call was denied with a reason that contains all words, and not because a handler failed."""
        assert not self.faults
        assert self.specific.get("permissionDecision") == "deny", self.stdout or "the reply is empty"
        _assert_contains(self.specific["permissionDecisionReason"], words)

    def assert_advised(self, *words: str) -> None:
        """Assert that the model gets advice that contains all words."""
        assert not self.faults
        assert self.context, self.stdout or "the reply is empty"
        _assert_contains(self.context, words)

    def _names(self, wanted: Sequence[str]) -> set[str]:
        """Return the names of the handlers that were called; without `wanted`, of those that aren't shipped."""
        files = {str(PurePath(label.partition(":")[0]).with_suffix("")).partition("/")[::2] for label in self.called}
        return {name for place, name in files if wanted or place != "shipped"}


class HoldfastProject:
    """A project folder in which you write files and fire events.

    Attributes:
        root: the project's root.
        session: the id of the session that fires.
        checked: whether mistakes raise. Set it to False to see what Holdfast does with a file that is untrusted or has
            a fault.
    """

    def __init__(self, root: Path, session: str = "11111111-1111-4111-8111-111111111111") -> None:
        """Use an existing folder as the project's root."""
        self.root = root
        self.session = session
        self.checked = True
        self._now: datetime | None = None

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
        """Send one event through the loader, the handlers and the merging, but not to handlers in the background.

        Args:
            event: the event's name.
            recorded: the recorded payload to start from (`PreCompact-manual`). By default the event's first recording
                or, if there is none, a payload with only the common fields.
            changes: payload fields to set.

        Raises:
            HoldfastError: there is no such event or field, or a handler file is untrusted or has a fault.
        """
        return self.send(self._payload(event, recorded, changes))

    def fire_background(self, event: str, /, recorded: str | None = None, **changes: Any) -> Fired:
        """Send one event to the handlers that run in the background, and to no other; see `fire`."""
        with self._clock():
            return self._send(self._payload(event, recorded, changes), background=True)

    def compact(self, trigger: str = "manual") -> tuple[Fired, Fired]:
        """Compact the conversation: fire PreCompact, then SessionStart.

        Args:
            trigger: `manual` or `auto`.

        Returns:
            The results: what the summariser sees, then what the model sees.
        """
        before = self.fire("PreCompact", recorded=f"PreCompact-{trigger}")
        return before, self.fire("SessionStart", recorded="SessionStart-compact")

    def advance(self, seconds: float) -> None:
        """Let some time pass for the events that follow."""
        from holdfast import clock

        self._now = (self._now or clock.now()) + timedelta(seconds=seconds)

    def send(self, payload: dict[str, Any]) -> Fired:
        """Send one payload as it is; see `fire`."""
        with self._clock():
            return self._send(payload)

    def _payload(self, event: str, recorded: str | None, changes: Mapping[str, Any]) -> dict[str, Any]:
        from holdfast.testkit import payloads
        from holdfast.testkit import recorded as recordings

        if self.checked:
            payloads.check_event(event)
            payloads.check_fields(event, changes)
        return recordings.sent(recorded or event, self.session, self.root, **changes)

    @contextmanager
    def _clock(self) -> Iterator[None]:
        from holdfast import clock

        with pytest.MonkeyPatch.context() as patches:
            if now := self._now:
                patches.setenv("HOLDFAST_NOW", clock.stamp(now))
                patches.setattr(time, "time", now.timestamp)
            yield

    def _send(self, payload: dict[str, Any], *, background: bool = False) -> Fired:
        from holdfast import engine, log
        from holdfast.config import Config
        from holdfast.dispatch import notices, reply_log
        from holdfast.plugins import discovery
        from holdfast.testkit import firing

        environ = {"CLAUDE_PROJECT_DIR": str(self.root), "CLAUDECODE": "1", "HOME": os.environ["HOME"]}
        project = engine.open_project(environ)
        files = discovery.find(engine.CLIENT, project, for_event=True)
        if self.checked:
            _check(files)
        plan, event = engine.prepare(payload, project, files, background=background)
        if not plan or event is None:
            return Fired("", 0)
        usual = project.config.handlers.timeout
        if usual == Config().handlers.timeout:  # a test must hold on a busy machine
            usual = math.inf
        fired = firing.fire(project, plan, event, environ, usual, math.inf, isolate=False, deliver=True)
        reply_log.note(project, event, fired.conclusion)
        notices.note_activity(plan, fired.answers, fired.notices)
        notices.record(event.hook_event_name, fired.notices, session=event.session_id)
        project.close()
        log.write("debug", f"fired {event.hook_event_name}")
        merged, called = fired.conclusion.reply, [answer.label for answer in fired.answers if answer.ran]
        return Fired(merged.stdout, merged.exit_code, fired.faults, merged.variables, merged.path, called)


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
        for folder in (root / ".claude", tmp_path / "home"):
            folder.mkdir(parents=True, exist_ok=True)
        project = HoldfastProject(root)
        project.write(files or {})
        return project

    return make


def _check(files: Sequence[HandlerFile]) -> None:
    """Raise HoldfastError for a handler file that a test can't mean to have: untrusted, or with a fault."""
    from holdfast.errors import HoldfastError

    for file in files:
        if file.place != "shipped" and not file.off:
            why = "; ".join(file.faults) or ("" if file.trusted else f"{file.distrust}; call project.trust()")
            if why:
                raise HoldfastError(f"{file.place}/{file.path.name} {why}")


def _bytes(content: Content) -> bytes:
    if callable(content):
        content = f"{_FUNCTION_HEAD}\n\n{dedent(inspect.getsource(content))}"
    if isinstance(content, (dict, list)):
        content = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return content.encode() if isinstance(content, str) else content


def _assert_contains(text: str, words: tuple[str, ...]) -> None:
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in {text!r}"
