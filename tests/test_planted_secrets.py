"""Secrets are planted wherever a session can bring them: none is readable in anything Holdfast stores or prints.

What is verbatim by design is left out: the files of workflows themselves, their kept generations and archive in the
ledger, the sidecar with their full text, and the commands that show a workflow's own file.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast import formats, log, paths
from holdfast.sessions import step_runs
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from tests import planted
from tests.commandline import holdfast
from tests.handmade import ME
from tests.planted import PLANTED
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject

HANDLER = '''
"""Quotes what it works on wherever it can."""

from holdfast import hookimpl

@hookimpl
def on_notification(event, context):
    context.log(f"asked {event.message!r}", field=event.message)
    print(event.message)
    raise ValueError(repr(event.message))
'''


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], tmp_path: Path) -> HoldfastProject:
    """A project in which secrets came by every way a session has: each by one event of its own, all by some others."""
    made = holdfast_project({})
    paths.ensure_private(paths.config_dir())
    paths.user_config().write_text('[handlers]\non = ["record_events"]\n', "utf-8")
    paths.ensure_private(paths.user_handlers())
    (paths.user_handlers() / "quoter.py").write_text(HANDLER, "utf-8")
    log.set_project(made.root)
    log.set_level("debug")
    all_of = "\n\n".join(each.text for each in PLANTED)
    reminders = [item for each in PLANTED[::9] for item in ("--remind", f"Mind {each.text}")]
    holdfast(
        "start", f"Move {PLANTED[4].text}", "--phase", "One @builder", "--phase", "Two", *reminders, root=made.root
    )
    transcript = tmp_path / "me.jsonl"
    transcript.write_text("".join(_entries(made.root)), "utf-8")
    mine = {"session_id": ME, "transcript_path": str(transcript)}
    made.fire("SessionStart", "SessionStart-startup-tui", **mine)
    for number, each in enumerate(PLANTED):
        log.write("warning", f"seen {each.text!r}", raw=each.text, again=json.dumps(f"x\n{each.text}"))
        if number % 3 == 0:
            made.fire("UserPromptSubmit", prompt=each.text, **mine)
            made.fire("Notification", "Notification-permission_prompt", message=f"\n{each.text}", **mine)
        elif number % 3 == 1:
            made.fire("PreToolUse", "PreToolUse-Bash", tool_input={"command": each.text}, **mine)
        else:
            agent = Agent(made, each.text, "helper", each.text, number=number + 10, session=ME)
            agent.about_to()
            agent.returned(each.text)
    dumped = {"stdout": all_of, "stderr": repr(all_of), "environment": {"AWS_SECRET_ACCESS_KEY": PLANTED[0].secret}}
    made.fire("PostToolUse", "PostToolUse-Bash", tool_input={"command": "env"}, tool_response=dumped, **mine)
    task = recorded.load("PostToolUse-TaskCreate")["tool_response"] | {"task": {"id": "1", "subject": all_of}}
    made.fire("PostToolUse", "PostToolUse-TaskCreate", tool_response=task, **mine)
    failing = Agent(made, "One", "builder", all_of, number=2, session=ME)
    failing.about_to()
    failing.failed(f"failed with {all_of}")
    made.fire("PreCompact", "PreCompact-auto", custom_instructions=all_of, **mine)
    made.fire("SubagentStop", "SubagentStop-compaction", session_id=ME, last_assistant_message=all_of)
    _keep_steps(made, all_of)
    made.fire("SessionStart", "SessionStart-compact", **mine)
    made.fire("PostCompact", "PostCompact-auto", compact_summary=all_of, **mine)
    made.fire("SubagentStop", "SubagentStop-compaction", session_id=ME, last_assistant_message=all_of)
    return made


def _entries(root: Path) -> Iterator[str]:
    """Yield a transcript in which requests, commands and what they put out hold the secrets."""
    for number, each in enumerate(PLANTED):
        common = {"sessionId": ME, "cwd": str(root), "timestamp": "2026-03-01T10:00:00.000Z", "uuid": f"u{number}"}
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": each.text}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": each.text, "is_error": True}
        for kind, content in (("user", f"Do {each.text}"), ("assistant", [call]), ("user", [result])):
            yield json.dumps({"type": kind, "message": {"role": kind, "content": content}, **common}) + "\n"


def _keep_steps(made: HoldfastProject, text: str) -> None:
    there = Workspace.open(made.root)
    step_runs.record(there, "wfs#x", "1", "test", "failed", text)
    there.close()


def test_the_plants_can_be_found() -> None:
    """The test can fail: where nothing is redacted, each is found, and there are enough of them."""
    assert len(planted.found("\n".join(each.text for each in PLANTED))) == len(PLANTED)
    assert len({each.kind for each in PLANTED}) >= 80


@pytest.mark.slow
def test_no_secret_is_readable(project: HoldfastProject) -> None:
    """Neither in what is kept, nor in what is printed; asked for the secrets, an export has only the workflow's own."""
    _assert_none_is_kept(project)
    _assert_none_is_printed(project)
    shown = set(planted.found(holdfast("export", "--verbatim", root=project.root).out))
    assert shown
    assert shown <= set(planted.found("\n".join(each.text for each in (*PLANTED[::9], PLANTED[4]))))


def _assert_none_is_kept(project: HoldfastProject) -> None:
    """And there is something of each kind that is kept."""
    files = {each.name for each in paths.state_dir().rglob("*")}
    assert {"holdfast.log", f"{ME}.jsonl"} <= files
    with closing(sqlite3.connect(Workspace.open(project.root).ledger_file)) as connection:
        for table in ("agents", "events", "conversations", "todo_tasks", "step_runs", "compactions"):
            assert connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0], table
    planted.assert_none_is_kept(project.root)


def _assert_none_is_printed(project: HoldfastProject) -> None:
    """And what goes back into the model's context."""
    trail = project.fire("SessionStart", "SessionStart-compact", session_id=ME)
    assert trail.faults == []
    planted.assert_none_is_printed(project.root)
    for arguments in (["handlers", "list"], ["handlers", "list", "--json"]):
        assert planted.found(holdfast(*arguments, root=project.root).out) == [], arguments
    for arguments in (["handlers", "check"], ["handlers", "check", "--json"]):
        said = holdfast(*arguments, root=project.root, code=1)
        assert "quoter.py" in said.out
        assert planted.found(said.out) == [], arguments


@pytest.mark.slow
@pytest.mark.parametrize("name", formats.OURS)
def test_no_secret_of_a_workflow_is_readable(holdfast_project: Callable[..., HoldfastProject], name: str) -> None:
    """Whatever its format: in its phases and what is said of them, in an agent's words, and in a broken file."""
    made = holdfast_project({})
    log.set_level("debug")
    text = [each.text for each in PLANTED if "\0" not in each.text and "\n" not in each.text]
    phases = [word for each in text[:30:6] for word in ("--phase", f"Do {each}")]
    more = ("--remind", text[1], "--set", f"key={text[2]}")
    holdfast("start", "Plain title", "--format", name, *phases, *more, root=made.root)
    made.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    holdfast("next", root=made.root, session=ME)
    holdfast("done", "--note", text[3], root=made.root, session=ME)
    holdfast("update", "--note", text[4], root=made.root, session=ME)
    for number, each in enumerate(text[:30:3]):
        agent = Agent(made, f"Do {each}", "general-purpose", each, number=number + 2, session=ME)
        agent.about_to()
        agent.failed(each) if number % 2 else agent.returned(each)
    made.fire("PreCompact", "PreCompact-auto", session_id=ME)
    made.fire("SessionStart", "SessionStart-compact", session_id=ME)

    planted.assert_none_is_kept(made.root)
    planted.assert_none_is_printed(made.root)
