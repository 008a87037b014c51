"""`holdfast telemetry flush` against a collector that decodes what comes, is dead, slow, wrong or absent."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock, config, paths
from holdfast.memory import log
from holdfast.sessions.workspace import Workspace
from holdfast.telemetry import flush, position
from tests import planted
from tests.commandline import holdfast
from tests.handmade import ME
from tests.planted import PLANTED
from tests.telemetry.receiver import receive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from tests.telemetry.receiver import Receiver

GUARD = '''
"""Refuses to push."""

from holdfast import deny, hookimpl

@hookimpl(match="Bash", strict=True)
def on_pre_tool_use(event, context):
    return deny(f"not {event.tool_input['command']}")
'''
DECISION: dict[str, Any] = {
    "event": "PreToolUse",
    "tool": "Bash",
    "session_id": ME,
    "prompt_id": "p1",
    "tool_use_id": "toolu_1",
    "agent_id": None,
    "handler": "user/guard.py",
    "outcome": "deny",
    "reason": "no",
    "dropped": "",
    "place": "user",
    "strict": True,
    "duration_ms": 1.5,
}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A collector that works."""
    with receive() as found:
        yield found


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project whose user has no telemetry yet."""
    made = holdfast_project({})
    paths.ensure_private(paths.config_dir())
    return made


def configure(url: str, more: str = "") -> None:
    """Write the user's configuration."""
    paths.user_config().write_text(f'[telemetry]\nendpoint = "{url}"\n{more}', "utf-8")


def decide(project: HoldfastProject, number: int, **changes: Any) -> None:
    """Append decisions to the log, as many answered events do."""
    there = Workspace.open(project.root)
    with there.ledger.transaction():
        for each in range(number):
            data = {**DECISION, "tool_use_id": f"toolu_{each}", **changes}
            log.note(there, "decision", "deny", conversation=ME, data=data)
    there.close()


def dead() -> str:
    """Return an address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_decision_arrives_with_the_ids_of_the_client(project: HoldfastProject, receiver: Receiver) -> None:
    """Which handler decided what, under the names by which the client's own records join it."""
    paths.ensure_private(paths.user_handlers())
    (paths.user_handlers() / "guard.py").write_text(GUARD, "utf-8")
    configure(receiver.url)
    project.fire(
        "PreToolUse", "PreToolUse-Bash", session_id=ME, prompt_id="p1", tool_use_id="t1", tool_input={"command": "git"}
    )

    said = holdfast("telemetry", "flush", root=project.root)

    assert said.out == f"Sent 2 records to {receiver.url}.\n"
    (decision,) = receiver.named("decision")
    (guard,) = receiver.named("guard")
    duration = decision.attributes.pop("holdfast.duration_ms")
    assert isinstance(duration, float)
    assert len(decision.attributes.pop("log.record.uid")) == 32
    assert decision.attributes == {
        "session.id": ME,
        "prompt.id": "p1",
        "tool_use_id": "t1",
        "hook_event": "PreToolUse",
        "tool_name": "Bash",
        "holdfast.handler": "user/guard.py",
        "holdfast.place": "user",
        "holdfast.outcome": "deny",
        "holdfast.strict": True,
        "holdfast.dropped": False,
    }
    assert decision.severity == "WARN"
    assert decision.body == "holdfast.decision deny user/guard.py PreToolUse"
    assert decision.resource["service.name"] == "holdfast"
    assert decision.resource["host.name"] == os.uname().nodename
    assert guard.attributes["holdfast.guard.ran"] is True
    assert receiver.requests[0][0] == "/v1/logs"


def test_a_reason_is_sent_only_if_the_user_wants_it(project: HoldfastProject, receiver: Receiver) -> None:
    """And then as the handler wrote it."""
    decide(project, 1, reason="not git push")
    configure(receiver.url)
    holdfast("telemetry", "flush", root=project.root)
    configure(receiver.url, 'content = "reasons"\n')
    decide(project, 1, reason="not git push")
    holdfast("telemetry", "flush", root=project.root)

    first, second = receiver.named("decision")
    assert "holdfast.reason" not in first.attributes
    assert second.attributes["holdfast.reason"] == "not git push"


def test_workflows_and_deliveries_arrive(project: HoldfastProject, receiver: Receiver) -> None:
    """A workflow that a command moves, is saved, restored, and whose guidance is confirmed or lost."""
    configure(receiver.url)
    holdfast("start", "User auth", "--phase", "Design", "--phase", "Build", root=project.root, session=ME)
    project.fire("SessionStart", "SessionStart-compact", session_id=ME)
    holdfast("done", "Design", root=project.root)
    holdfast("telemetry", "flush", root=project.root)

    moves = [each.attributes for each in receiver.named("workflow")]
    assert [(each["holdfast.workflow.phase"], each["holdfast.workflow.status"]) for each in moves] == [
        ("phase_1", "began"),
        ("phase_1", "completed"),
        ("phase_2", "began"),
    ]
    assert {each["holdfast.workflow.cause"] for each in moves} == {"command"}
    assert {each["holdfast.workflow.format"] for each in moves} == {"compaction"}
    assert len({each["holdfast.workflow.id"] for each in moves}) == 1
    pending, delivered = (each.attributes for each in receiver.named("delivery"))
    assert (pending["holdfast.delivery.state"], delivered["holdfast.delivery.state"]) == ("pending", "delivered")
    assert pending["holdfast.delivery.id"] == delivered["holdfast.delivery.id"]
    assert pending["holdfast.delivery.characters"] > 100
    assert pending["session.id"] == ME
    assert b"User auth" not in receiver.raw


def test_a_session_id_is_the_one_of_that_time(project: HoldfastProject, receiver: Receiver) -> None:
    """A conversation that went on under a new id: each record has the id of the client's records beside it."""
    configure(receiver.url)
    there = Workspace.open(project.root)
    for session, minutes in (("later", 10), ("now", 5)):
        since = clock.stamp(clock.now() - timedelta(minutes=minutes))
        there.ledger.run("INSERT INTO session_ids VALUES (?, ?, ?)", session, "first", since)
    for minutes in (15, 7, 1):
        at = clock.stamp(clock.now() - timedelta(minutes=minutes))
        log.note(there, "phase", "began", conversation="first", workflow="wfs:x#y", phase="1", at=at)
    there.close()
    holdfast("telemetry", "flush", root=project.root)

    assert [each.attributes["session.id"] for each in receiver.named("workflow")] == ["first", "later", "now"]


@pytest.mark.slow
def test_nothing_is_lost_while_the_collector_is_away(project: HoldfastProject) -> None:
    """1,000 decisions with an endpoint that is wrong and slow; once it returns, each arrives."""
    decide(project, 1_000)
    with receive(status=404) as wrong:
        configure(wrong.url)
        refused = holdfast("telemetry", "flush", root=project.root, code=1)
        assert "404" in refused.err
        wrong.status = 200
        wrong.delay_s = 2.0
        paths.user_config().write_text(
            f'[telemetry]\nendpoint = "{wrong.url}"\nenv_file = "{paths.config_dir() / "otel.env"}"\n', "utf-8"
        )
        (paths.config_dir() / "otel.env").write_text("OTEL_EXPORTER_OTLP_TIMEOUT=1\n", "utf-8")
        refused = holdfast("telemetry", "flush", root=project.root, code=1)
        assert flush.waiting() == 1_000
        wrong.delay_s = 0.0
        configure(wrong.url)
        said = holdfast("telemetry", "flush", root=project.root)
        assert said.out.startswith("Sent 1,000 records")
        sent = [each.attributes["tool_use_id"] for each in wrong.named("decision")]
        assert list(dict.fromkeys(sent)) == [f"toolu_{each}" for each in range(1_000)]
        assert flush.waiting() == 0
        assert holdfast("telemetry", "flush", root=project.root).out == "Nothing waits to be sent.\n"


def test_a_resent_record_has_the_same_id(project: HoldfastProject, receiver: Receiver) -> None:
    """A run that dies before it counts what it sent: the collector can tell the second copy."""
    configure(receiver.url)
    decide(project, 3)
    before = position.load()
    holdfast("telemetry", "flush", root=project.root)
    position.save(before)
    holdfast("telemetry", "flush", root=project.root)

    ids = [each.attributes["log.record.uid"] for each in receiver.named("decision")]
    assert ids[:3] == ids[3:]
    assert len(set(ids)) == 3


def test_too_many_waiting_records_are_dropped_and_counted(
    project: HoldfastProject, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest go; doctor says how many."""
    monkeypatch.setattr(flush, "BACKLOG_LIMIT", 10)
    configure(receiver.url)
    decide(project, 25)

    said = holdfast("telemetry", "flush", root=project.root)

    assert said.out == f"Sent 10 records to {receiver.url}. 15 records dropped: {flush.WHY_DROPPED}.\n"
    assert receiver.named("decision")[0].attributes["tool_use_id"] == "toolu_15"
    doctor = holdfast("doctor", "telemetry", "--verbose", root=project.root)
    assert f"the telemetry endpoint {receiver.url} answers; 10 records sent" in doctor.out
    assert f"15 records dropped: {flush.WHY_DROPPED}" in doctor.out


def test_records_that_the_collector_calls_bad_hold_nothing_up(project: HoldfastProject) -> None:
    """After 400 the same data isn't sent again; it is counted, and what comes later is sent."""
    decide(project, 3)
    with receive(status=400) as strict:
        configure(strict.url)
        said = holdfast("telemetry", "flush", root=project.root)
        assert f"3 records dropped: {flush.WHY_DROPPED}." in said.out
        strict.status = 200
        decide(project, 2)
        assert "Sent 2 records" in holdfast("telemetry", "flush", root=project.root).out
        doctor = holdfast("doctor", "telemetry", "--verbose", root=project.root, code=None)
        assert (
            f"2 records sent, the last {clock.minute(position.load().sent_at)}; 0 records waiting; 3 records"
            in doctor.out
        )


def test_an_endpoint_that_is_away_is_told(project: HoldfastProject) -> None:
    """By the command and by doctor, with what waits, and what to do."""
    configure(dead())
    decide(project, 2)

    refused = holdfast("telemetry", "flush", root=project.root, code=1)
    assert refused.err.endswith("took nothing: [Errno 111] Connection refused. The rest waits.\n")
    doctor = holdfast("doctor", "telemetry", root=project.root, code=1)
    assert "takes nothing: [Errno 111] Connection refused (nothing sent yet; 2 records waiting)" in doctor.out
    assert "start the collector" in doctor.out


def test_what_waits_longer_than_a_day_is_sent(
    project: HoldfastProject, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing of the project was ever sent before."""
    configure(dead())
    decide(project, 1)
    holdfast("telemetry", "flush", root=project.root, code=1)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(days=3)))
    configure(receiver.url)

    assert holdfast("telemetry", "flush", root=project.root).out.startswith("Sent 1 record ")


def test_a_redirect_is_not_followed(project: HoldfastProject, receiver: Receiver) -> None:
    """Headers stay with the endpoint, and what wasn't taken waits."""
    decide(project, 1)
    with receive(status=308, headers={"Location": f"{receiver.url}/v1/logs", "Content-Length": "0"}) as moved:
        configure(moved.url)
        refused = holdfast("telemetry", "flush", root=project.root, code=1)
    assert "it answered 308 Permanent Redirect" in refused.err
    assert not receiver.requests
    assert flush.waiting() == 1


def test_an_answer_is_not_read(project: HoldfastProject) -> None:
    """It could be endless; that it has begun is enough."""
    decide(project, 1)
    with receive(headers={"Content-Length": "1000000"}) as endless:
        configure(endless.url)
        assert holdfast("telemetry", "flush", root=project.root).out.startswith("Sent 1 record ")


def test_what_happens_after_the_clock_was_set_back_is_sent(
    project: HoldfastProject, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next record stands behind the last one all the same."""
    configure(receiver.url)
    decide(project, 1)
    holdfast("telemetry", "flush", root=project.root)
    earlier = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: earlier)
    decide(project, 2)

    assert holdfast("telemetry", "flush", root=project.root).out.startswith("Sent 2 records ")


def test_half_a_character_holds_nothing_up(project: HoldfastProject, receiver: Receiver) -> None:
    """The name of a file can hold one, and so can JSON."""
    configure(receiver.url)
    decide(project, 1, handler="user/\udcff.py")

    assert holdfast("telemetry", "flush", root=project.root).out.startswith("Sent 1 record ")
    assert receiver.named("decision")[0].attributes["holdfast.handler"] == "user/?.py"


def test_it_says_how_to_switch_telemetry_on(project: HoldfastProject) -> None:
    """Without an endpoint nothing is sent, nor prepared."""
    decide(project, 1)
    said = holdfast("telemetry", "flush", root=project.root, code=1)
    assert "telemetry is off" in said.err
    assert "holdfast.toml" in said.err
    assert not position.folder().exists()
    assert "telemetry is off" in holdfast("doctor", "telemetry", "--verbose", root=project.root).out


def test_only_one_process_sends(project: HoldfastProject, receiver: Receiver) -> None:
    """A second one ends at once."""
    configure(receiver.url)
    decide(project, 1)
    descriptor = os.open(paths.ensure_own(position.folder()), os.O_RDONLY)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert holdfast("telemetry", "flush", root=project.root).out == "Another process is sending now.\n"
    finally:
        os.close(descriptor)
    assert not receiver.records


def test_headers_come_from_the_file_that_the_configuration_names(
    project: HoldfastProject, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And more about the machine; the user's own environment goes first."""
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.setenv(name, "x=y")  # so that it is put back
        monkeypatch.delenv(name)
    configure(receiver.url, 'env_file = "otel.env"\n')
    text = "# ours\nexport OTEL_EXPORTER_OTLP_HEADERS='x-team=blue'\nOTEL_RESOURCE_ATTRIBUTES=deployment=ci\n"
    (paths.config_dir() / "otel.env").write_text(text, "utf-8")
    decide(project, 1)
    holdfast("telemetry", "flush", root=project.root)

    assert receiver.requests[0][1]["x-team"] == "blue"
    assert receiver.records[0].resource["deployment"] == "ci"


def test_without_opentelemetry_it_names_the_extra(
    project: HoldfastProject, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What brings it, and nothing is sent."""
    configure(receiver.url)
    decide(project, 1)
    monkeypatch.setitem(sys.modules, "holdfast.telemetry.sender", None)
    said = holdfast("telemetry", "flush", root=project.root, code=1)
    assert "telemetry needs OpenTelemetry, which can't be loaded" in said.err
    assert "install Holdfast with its extra: '.[otel]'" in said.err
    assert not receiver.requests


def test_a_file_that_is_missing_is_named(project: HoldfastProject, receiver: Receiver) -> None:
    """Nothing is sent without the headers that it may hold."""
    configure(receiver.url, 'env_file = "missing.env"\n')
    decide(project, 1)
    said = holdfast("telemetry", "flush", root=project.root, code=1)
    assert "missing.env" in said.err
    assert "fix: look at" in holdfast("doctor", "telemetry", root=project.root, code=1).out
    assert not receiver.requests


def test_headers_that_cannot_be_read_are_told_but_not_shown(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A colon in place of `=`, as in HTTP itself."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer 0123456789abcdef0123")
    decide(project, 1)
    with receive(status=401) as receiver:
        configure(receiver.url)
        refused = holdfast("telemetry", "flush", root=project.root, code=1)
    assert "it answered 401 Unauthorized; Header format invalid" in refused.err
    assert "0123456789abcdef" not in refused.err


def test_a_project_cannot_send_anything_anywhere(project: HoldfastProject, tmp_path: Path) -> None:
    """Not even a trusted one: one warning names the table."""
    file = paths.project_config(project.root)
    file.parent.mkdir(exist_ok=True)
    file.write_text('[telemetry]\nendpoint = "https://evil.example"\ncontent = "reasons"\n', "utf-8")
    for trusted in (False, True):
        loaded = config.load(project.root, trusted=trusted)
        assert loaded.config.telemetry.endpoint == ""
        assert loaded.config.telemetry.content == "none"
        assert loaded.problems == [f"{file}: table [telemetry] counts only in {paths.user_config()}"]


def test_an_administrator_decides(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Their file overrides the user's, and sets nothing else."""
    managed = tmp_path / "managed.toml"
    managed.write_text('server = false\n[telemetry]\nendpoint = "https://collector.example"\n', "utf-8")
    monkeypatch.setattr(paths, "managed_config", lambda: managed)
    configure("http://localhost:1", 'content = "reasons"\n')
    loaded = config.load(project.root, trusted=True)
    assert loaded.config.telemetry.endpoint == "https://collector.example"
    assert loaded.config.telemetry.content == "reasons"
    assert loaded.config.server
    assert loaded.problems == [f"{managed}: key 'server' doesn't count in an administrator's file"]


def test_an_endpoint_holds_no_password(project: HoldfastProject) -> None:
    """It belongs into the file for headers."""
    configure("https://joe:hunter2@collector.example")
    loaded = config.load(None, trusted=False)
    assert loaded.config.telemetry.endpoint == ""
    assert "telemetry.endpoint" in loaded.problems[0]
    assert "hunter2" not in loaded.problems[0]


@pytest.mark.slow
@pytest.mark.parametrize("content", ["none", "reasons"])
def test_no_secret_is_sent(project: HoldfastProject, receiver: Receiver, content: str) -> None:
    """Wherever it stands: in a command that a guard quotes, a workflow's title, its phases, and an error."""
    paths.ensure_private(paths.user_handlers())
    (paths.user_handlers() / "guard.py").write_text(GUARD, "utf-8")
    configure(receiver.url, f'content = "{content}"\n')
    texts = [each.text for each in PLANTED[::3] if "\0" not in each.text]
    assert len(texts) >= 38
    for number, text in enumerate(texts):
        more = {"tool_input": {"command": text}, "tool_use_id": f"t{number}"}
        project.fire("PreToolUse", "PreToolUse-Bash", session_id=ME, **more)
    for text in texts[::9]:
        title = text.replace("\n", " ")
        holdfast("start", title, "--phase", title, root=project.root)
        holdfast("update", "--phase", "phase_1", "--status", "blocked", "--error", text, root=project.root)
        holdfast("cancel", root=project.root)
    project.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    holdfast("telemetry", "flush", root=project.root)

    assert len(receiver.named("decision")) >= len(texts)
    assert receiver.named("workflow")
    sent = "\n".join(json.dumps([each.body, each.attributes, each.resource]) for each in receiver.records)
    assert planted.found(sent) == []
    assert planted.found(receiver.raw.decode("utf-8", "replace")) == []
    assert ("holdfast.reason" in sent) == (content == "reasons")
