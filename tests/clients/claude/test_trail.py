"""What a transcript's entries say a session did."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.clients.claude import claude, trail
from holdfast.clients.claude.entries import typed
from holdfast.clients.client import Edit, Todo, Trail
from holdfast.trail import words
from tests.tables import each_row
from tests.trail.transcribed import CLIENTS, HOME, TASKS, WRITTEN, Transcript, notification, read


@each_row("client", CLIENTS)
@each_row("tool", ["todo", "tasks"])
def test_what_the_clients_wrote_is_understood(client: str, tool: str) -> None:
    """Every kind of fact, from a real session of either client with either to-do tool."""
    path = WRITTEN / f"worked-{client}-{tool}.jsonl"
    found = claude.reader().trail(str(path))
    assert found.requests == (
        "Build the parser, please.",
        "Always use tabs, never spaces.",
        "Go on after compaction.",
        "After resume.",
    )
    assert found.todos == (Todo("Write parser", "in_progress"), Todo("Write tests", "pending"))
    assert found.completed == (1 if tool == "todo" else 0)
    assert [(each.command, each.output) for each in words.failures(found.runs)] == [
        ("echo FAILED test_parser; exit 1", "Exit code 1\nFAILED test_parser")
    ]
    assert found.edits == (Edit(f"{HOME}/new.py", 1, created=True), Edit(f"{HOME}/app.py", 1, created=False))
    assert words.decided(found.statements) == ("I chose SQLite because it is small.",)
    assert found.plan == ""
    assert found.branch == "HEAD"
    # The newer client says at a resume that the command was stopped; the older one says nothing.
    assert [job.text for job in found.commands] == (["sleep 60"] if client == "2.1.197" else [])


@pytest.mark.parametrize("client", CLIENTS)
def test_before_its_end_was_told_a_command_runs(client: str) -> None:
    """Up to the compaction of a real session: with its id and the file its output goes to."""
    lines = (WRITTEN / f"worked-{client}-tasks.jsonl").read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    end = next(number for number, entry in enumerate(entries) if entry.get("subtype") == "compact_boundary")
    kinds = [entry.get("attachment", {}).get("type") for entry in entries]
    told = len(kinds) - kinds[::-1].index("task_status")  # the client says after a compaction what still runs
    assert told > end
    for part in (entries[:end], entries[:told]):
        (command,) = read(part).commands
        assert command.text == "sleep 60"
        assert command.output.endswith(f"/tasks/{command.id}.output")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_subagents_own_transcript_is_no_sessions(client: str) -> None:
    """Sidechain entries are passed over, all of them."""
    assert claude.reader().trail(str(WRITTEN / f"agent-{client}.jsonl")) == Trail()


def test_requests_are_kept_once_and_in_order() -> None:
    """Words said twice count where they were said last."""
    made = Transcript()
    for text in ("one", "go on", "two", "go on"):
        made.say(text)
    assert read(made.entries).requests == ("one", "two", "go on")


def test_todos_follow_the_tool() -> None:
    """The last list of TodoWrite wins; a refused one, or one without a list, changes nothing."""
    made = Transcript()
    made.todos(("a", "pending"), ("b", "completed"), ("c", "in_progress"))
    found = read(made.entries)
    assert found.todos == (Todo("c", "in_progress"), Todo("a", "pending"))
    assert found.completed == 1
    made.call("TodoWrite", {"todos": [{"content": "refused", "status": "pending"}]}, "Error: no", "no", failed=True)
    made.call("TodoWrite", {"todos": "x"}, {}, "no")
    assert read(made.entries) == found
    made.attach(type="todo_reminder", content=[{"content": "d", "status": "pending"}], itemCount=1)
    assert read(made.entries).todos == (Todo("d", "pending"),)
    made.attach(type="todo_reminder", content=[], itemCount=0)
    assert read(made.entries).todos == ()


def test_tasks_follow_the_tools() -> None:
    """Created, renamed, moved, deleted; an unknown one has its number; a failed change changes nothing."""
    made = Transcript()
    for number, subject in enumerate(("one", "two", "three", "four"), 1):
        made.task(str(number), subject)
    change = {"success": True, "updatedFields": ["status"]}
    made.call("TaskUpdate", {"taskId": "1", "subject": "ONE"}, {**change, "taskId": "1"})
    made.call("TaskUpdate", {"taskId": "2"}, {**change, "taskId": "2", "statusChange": {"to": "completed"}})
    made.call("TaskUpdate", {"taskId": "3", "status": "deleted"}, {**change, "taskId": "3"})
    made.call("TaskUpdate", {"taskId": "9", "status": "in_progress"}, {**change, "taskId": "9"})
    made.call("TaskUpdate", {"taskId": "4", "status": "completed"}, {"success": False, "taskId": "4"})
    found = read(made.entries)
    assert found.todos == (Todo("task 9", "in_progress"), Todo("four", "pending"), Todo("ONE", "pending"))
    assert found.completed == 1


def test_the_clients_own_task_list_replaces_what_was_known() -> None:
    """A reminder or TaskList names all that is open; what is completed stays counted."""
    for kind in ("task_reminder", "TaskList"):
        made = Transcript()
        made.task("1", "done", "completed")
        made.task("2", "gone")
        listed = [{"id": "3", "subject": "left", "status": "in_progress"}]
        if kind == "TaskList":
            made.call("TaskList", {}, {"tasks": listed})
        else:
            made.attach(type=kind, content=listed, itemCount=1)
        found = read(made.entries)
        assert (found.todos, found.completed) == ((Todo("left", "in_progress"),), 1)


def test_a_failure_stands_until_the_command_succeeds() -> None:
    """The newest first; where the output was sent makes no other command, its arguments do."""
    made = Transcript()
    made.run("pytest -q a", "FAILED a", failed=True)
    made.run("pytest -q b", "FAILED b", failed=True)
    made.run("pytest -q a", "FAILED a again", failed=True)
    assert [each.command for each in words.failures(read(made.entries).runs)] == ["pytest -q a", "pytest -q b"]
    assert "again" in words.failures(read(made.entries).runs)[0].output
    made.run("pytest  -q a 2>&1 | tail -3", "1 passed in 0.1s")
    assert [each.command for each in words.failures(read(made.entries).runs)] == ["pytest -q b"]
    made.background("pytest -q b", "b1")
    made.notify("b1", "Background command was stopped", "killed")
    assert [each.command for each in words.failures(read(made.entries).runs)] == ["pytest -q b"]
    made.run("pytest -q c | tail", "1 failed in 0.1s")
    assert [each.command for each in words.failures(read(made.entries).runs)] == ["pytest -q c | tail", "pytest -q b"]


@each_row(
    "refusal",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "Permission to use Bash has been denied.",
        "<tool_use_error>InputValidationError: x</tool_use_error>",
        "[Request interrupted by user for tool use]",
    ],
)
def test_a_command_that_was_refused_never_ran(refusal: str) -> None:
    """It is no failure, and does not make an earlier one good."""
    made = Transcript()
    made.call("Bash", {"command": "rm -rf build"}, f"Error: {refusal}", refusal, failed=True)
    assert words.failures(read(made.entries).runs) == []
    made.run("make", "error: x", failed=True)
    made.call("Bash", {"command": "make"}, f"Error: {refusal}", refusal, failed=True)
    assert len(words.failures(read(made.entries).runs)) == 1


@each_row("status", ["completed", "failed", "killed", "stopped"])
def test_what_ended_runs_no_more(status: str) -> None:
    """A command's end is a run of that command, and a failed one a failure, whatever its result quotes."""
    made = Transcript()
    made.background("make serve", "b1")
    quoted = f"<status>{'completed' if status == 'failed' else 'failed'}</status>"
    made.queue(notification("b1", "Background command ended", status, quoted), mode="task-notification")
    found = read(made.entries)
    assert found.commands == ()
    assert [each.command for each in words.failures(found.runs)] == (["make serve"] if status == "failed" else [])


def test_an_end_may_be_told_while_the_model_works() -> None:
    """As an attachment; a notification without an end leaves a command running."""
    made = Transcript()
    made.background("serve", "b1")
    made.notify("b1", "an event", "")
    assert len(read(made.entries).commands) == 1
    made.queue(notification("b1", "Background command finished", "completed", "one"), mode="task-notification")
    found = read(made.entries)
    assert (found.commands, found.requests) == ((), ())


def test_the_client_says_after_a_compaction_what_runs() -> None:
    """Also of what was launched before what is read, and that it ended meanwhile."""
    made = Transcript()
    shell = {"command": "make serve", "kind": "bash"}
    made.attach(
        type="task_status",
        taskId="b9",
        taskType="local_bash",
        description="Serve",
        status="running",
        shell=shell,
        outputFilePath=f"{TASKS}/b9.output",
    )
    made.attach(type="task_status", taskId="a1", taskType="local_agent", description="Look", status="running")
    found = read(made.entries)
    assert [(job.id, job.text, job.output) for job in found.commands] == [("b9", "make serve", f"{TASKS}/b9.output")]


@each_row(
    "name, given, data",
    [
        ("TaskStop", {"task_id": "b1"}, {"message": "stopped", "task_id": "b1"}),
        ("KillShell", {"shell_id": "b1"}, {"message": "killed"}),
        (
            "TaskOutput",
            {"task_id": "b1"},
            {"task": {"task_id": "b1", "status": "killed"}},
        ),
    ],
)
def test_stopping_or_looking_ends_a_command(name: str, given: dict[str, Any], data: dict[str, Any]) -> None:
    """The model's own tools tell it as well; one that was refused tells nothing."""
    made = Transcript()
    made.background("serve", "b1")
    made.call(name, given, "Error: x", "x", failed=True)
    for status in ("pending", "running", ""):
        made.call("TaskOutput", {"task_id": "b1"}, {"task": {"task_id": "b1", "status": status}})
    assert len(read(made.entries).commands) == 1
    made.call(name, given, data)
    assert read(made.entries).commands == ()


def test_edits_are_counted() -> None:
    """Newest first; an edit that was refused is none."""
    made = Transcript()
    made.read("/p/a")
    made.edit("/p/b", create=True)
    made.edit("/p/c")
    made.edit("/p/b")
    made.call("NotebookEdit", {"notebook_path": "/p/n.ipynb"}, {"notebook_path": "/p/n.ipynb"})
    made.call("Read", {"file_path": "/p/i.png"}, {"type": "image", "file": {"base64": "", "type": "image/png"}})
    made.call("Edit", {"file_path": "/p/x"}, "Error: not read yet", "not read yet", failed=True)
    made.call("Read", {"file_path": "/p/y"}, "Error: no such file", "no such file", failed=True)
    made.launch("Write", {"file_path": "/p/z"})
    found = read(made.entries)
    assert found.edits == (Edit("/p/n.ipynb", 1, False), Edit("/p/b", 2, True), Edit("/p/c", 1, False))


def test_an_entry_that_is_written_again_counts_once() -> None:
    """2.1.197 writes its whole history again at a compaction, under the old ids."""
    made = Transcript()
    made.edit("/p/a")
    assert read([*made.entries, *made.entries]).edits == (Edit("/p/a", 1, False),)
    assert len(trail.work(typed(enumerate([*made.entries, *made.entries])))) == 1


def test_a_result_is_enough_where_the_call_lies_before_what_is_read() -> None:
    """The tail may begin between a call and its result."""
    made = Transcript()
    made.edit("/p/a", create=True)
    results = [entry for entry in made.entries if entry["type"] == "user"]
    found = read(results)
    assert found.edits == (Edit("/p/a", 1, True),)


def test_the_plans_file_is_found_wherever_it_is_named() -> None:
    """Plan mode's attachments, the tool that ends it, a file written into a folder of plans; the newest wins."""
    made = Transcript()
    for kind in ("plan_file_reference", "plan_mode", "plan_mode_reentry", "plan_mode_exit"):
        made.attach(type=kind, planFilePath=f"/plans/{kind}.md", planExists=True)
        assert read(made.entries).plan == f"/plans/{kind}.md"
    made.attach(type="plan_mode", planFilePath="/plans/none.md", planExists=False)
    made.attach(type="plan_mode", planFilePath="/plans/agent.md", planExists=True, isSubAgent=True)
    made.attach(type="plan_mode", planFilePath="", planExists=True)
    assert read(made.entries).plan == "/plans/plan_mode_exit.md"
    made.call("ExitPlanMode", {"plan": "x"}, {"plan": "\n# Parse it\n", "filePath": "/plans/p.md"})
    assert (read(made.entries).plan, read(made.entries).plan_title) == ("/plans/p.md", "Parse it")
    made.attach(type="plan_mode_exit", planFilePath="/plans/p.md", planExists=True)
    assert read(made.entries).plan_title == "Parse it"
    made.edit("/p/docs/plans/q.md", create=True, content="## Another")
    assert (read(made.entries).plan, read(made.entries).plan_title) == ("/p/docs/plans/q.md", "Another")
    made.edit("/p/plans/data.json", create=True)
    assert read(made.entries).plan == "/p/docs/plans/q.md"


def test_decisions_are_the_newest_and_a_persons_answers_among_them() -> None:
    """Newest first, the same only once, no more than there is ever room for."""
    made = Transcript()
    for number in range(50):
        made.answer(f"Decision: number {number} it is.")
    made.call("AskUserQuestion", {"questions": []}, {"questions": [], "answers": {"Tabs?": "yes", "Odd?": 1}})
    made.answer("I chose tabs. I chose JSON.")
    made.answer("I chose tabs.")
    made.add({**made.entries[0], "isApiErrorMessage": True, "message": {"content": "I decided to fail."}})
    found = words.decided(read(made.entries).statements)
    assert found[:4] == (
        "I chose tabs.",
        "I chose JSON.",
        "Odd? → 1 (the person's answer)",
        "Tabs? → yes (the person's answer)",
    )
    assert found[4] == "Decision: number 49 it is."
    assert len(found) == 20


def test_the_last_branch_counts() -> None:
    """Entries without one leave it as it was."""
    made = Transcript(branch="one")
    made.say("x")
    made.branch = "two"
    made.say("y")
    made.branch = ""
    made.say("z")
    assert read(made.entries).branch == "two"
