"""Handlers' faults are remembered, and remembering them never fails an event."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast import clock, environment, log, paths, worktree
from holdfast.dispatch import faults
from holdfast.dispatch.calls import Answer
from holdfast.events import parse
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import Route
from tests.handmade import together
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast import Outcome
    from holdfast.clients.claude.events.event import Event


def handler(folder: Path, name: str = "guard", source: bytes = b"x") -> HandlerFile:
    digest = f"digest of {source.decode()}"
    return HandlerFile("user", name, folder / f"{name}.py", source, digest, trusted=True, off=False)


def test_the_latest_fault_is_told_with_its_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`holdfast handlers check` names event, fault, how often and when."""
    file = handler(tmp_path)
    assert faults.of(file) == ""

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    faults.remember("Stop", file, "raised KeyError: 'x'")
    assert faults.of(file) == "Stop: raised KeyError: 'x' (once, last at 2026-03-01 10:00 UTC)"

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T11:00:00Z")
    faults.remember("PreToolUse", file, "took too long")
    assert faults.of(file) == "PreToolUse: took too long (2 times, last at 2026-03-01 11:00 UTC)"


def test_a_changed_file_has_no_fault_any_more(tmp_path: Path) -> None:
    """Whoever mended a handler need not hear of it again; the count begins anew."""
    faults.remember("Stop", handler(tmp_path), "broke")
    mended = handler(tmp_path, source=b"y")
    assert faults.of(mended) == ""

    faults.remember("Stop", mended, "broke again")
    assert "(once," in faults.of(mended)


def test_files_are_told_apart_by_path(tmp_path: Path) -> None:
    """The same content elsewhere is another file."""
    faults.remember("Stop", handler(tmp_path), "broke")

    assert faults.of(handler(tmp_path, "other")) == ""


def test_the_faults_are_private(tmp_path: Path) -> None:
    """A fault may quote what a handler was working on."""
    faults.remember("Stop", handler(tmp_path), "broke")

    assert stat.S_IMODE((paths.state_dir() / "faults.json").stat().st_mode) == 0o600


def test_files_that_failed_longest_ago_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred files are remembered; a fault makes a file the youngest."""
    monkeypatch.setattr(faults, "_KEPT", 3)
    for name in ("a", "b", "c", "a", "d"):
        faults.remember("Stop", handler(tmp_path, name), "broke")

    told = {name: bool(faults.of(handler(tmp_path, name))) for name in "abcd"}
    assert told == {"a": True, "b": False, "c": True, "d": True}


GOOD = {"digest": "digest of x", "event": "Stop", "fault": "broke", "at": "2026", "count": 1}


@each_row("entry", [None, 5, "text", [], {}, *({**GOOD, key: None} for key in GOOD), {**GOOD, "count": "1"}])
def test_a_damaged_entry_counts_as_none(tmp_path: Path, entry: object) -> None:
    """Whatever stands in the file, telling and remembering go on: an event must not be lost for a fault's sake."""
    file = handler(tmp_path)
    faults.remember("Stop", file, "broke")
    (paths.state_dir() / "faults.json").write_text(json.dumps({str(file.path): entry}))

    assert faults.of(file) == ""
    faults.remember("Stop", file, "broke anew")
    assert faults.of(file).startswith("Stop: broke anew (once,")


@each_row("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    """A fault file that cannot be read is written anew."""
    paths.ensure_private(paths.state_dir())
    (paths.state_dir() / "faults.json").write_bytes(content)

    assert faults.of(handler(tmp_path)) == ""
    faults.remember("Stop", handler(tmp_path), "broke")
    assert faults.of(handler(tmp_path)).startswith("Stop: broke")


def test_a_fault_that_cannot_be_remembered_is_logged(tmp_path: Path) -> None:
    """Something in the way of the file costs the memory and not the event."""
    (paths.state_dir() / "faults.json").mkdir(parents=True)

    faults.remember("Stop", handler(tmp_path), "broke")

    assert "couldn't be recorded" in log.tail(1)[0]


@pytest.mark.slow
def test_faults_of_processes_at_once_are_all_counted(tmp_path: Path) -> None:
    """Three events fail at the same moment ten times each; none of the thirty is lost."""
    together(
        tmp_path,
        ["one", "two", "three"],
        deed="for number in range(10): faults.remember('Stop', file, 'broke')",
        before="from holdfast.dispatch import faults\nfrom tests.dispatch.test_faults import handler\n"
        "faults.LOCK_TIMEOUT_S = 600\nfile = handler(project.root)",
    )

    assert "(30 times," in faults.of(handler(tmp_path))


def test_when_a_file_was_last_at_fault_is_known(tmp_path: Path) -> None:
    """Of its present content; a changed file never was."""
    file = handler(tmp_path)
    assert faults.last_at(file) == ""
    faults.remember("Stop", file, "broke")
    assert clock.minute(faults.last_at(file)) in faults.of(file)
    assert faults.last_at(file).endswith("Z")
    assert faults.last_at(handler(tmp_path, source=b"y")) == ""


def test_secrets_are_not_kept_and_nothing_long(tmp_path: Path) -> None:
    """A handler that raises with what it was given."""
    faults.remember("Stop", handler(tmp_path), f"raised ValueError: token=abcd1234efgh {'x' * 100_000}")

    kept = (paths.state_dir() / "faults.json").read_text("utf-8")
    assert "abcd1234efgh" not in kept
    assert "token=[redacted]" in kept
    assert len(kept) < 3_000


# --- what came of an event ----------------------------------------------------------------------------------------

BASH = parse({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}})
START = parse({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})
SILENT = parse({"hook_event_name": "Notification", "session_id": "s", "message": "Waiting."})


def call(folder: Path, name: str) -> Call:
    """Return a planned call of a handler."""
    return Call(handler(folder, name), Route("PreToolUse", "on_it"))


def heard(plan: list[Call], *answers: Answer, printed: str = "", event: Event = BASH) -> str:
    """Return what the user is told of an event's answers; the first call printed something."""
    told = faults.tell(event, plan, answers, {plan[0].label: bytearray(printed.encode())})
    return "\n".join(outcome.text for answer in told for outcome in answer.outcomes)


def test_one_that_had_no_turn_is_logged_and_not_blamed(tmp_path: Path) -> None:
    """That no time was left was another handler's doing: nobody hears of it, and its own file has no fault."""
    late = call(tmp_path, "late")
    answer = Answer(late.label, fault="did not run: no time was left", ran=False)
    faults.note_answers(BASH, [late], [answer])

    assert heard([late], answer) == ""
    assert faults.of(late.file) == ""
    assert "user/late.py: on_it did not run" in log.tail(1)[0]


def test_each_fault_is_told_once_however_many_others_follow(tmp_path: Path) -> None:
    """What was told with an earlier event is not told again with another handler's fault, and nothing is forgotten."""
    plan = [call(tmp_path, name) for name in ("a", "b", "c")]
    a, b, c = (Answer(each.label, fault="broke") for each in plan)

    events = [a], [a, b], [b, a], [c, a], [a, b, c]
    assert [heard(plan, *answers).count("broke") for answers in events] == [1, 1, 0, 1, 0]


def test_faults_wait_for_an_event_that_can_tell_them(tmp_path: Path) -> None:
    """What fails where the user sees no reply is told later, each of it, however many such events come first."""
    plan = [call(tmp_path, name) for name in ("a", "b", "c")]
    a, b, c = (Answer(each.label, fault="broke") for each in plan)
    assert heard(plan, a) != ""

    assert [heard(plan, *answers, event=SILENT) for answers in ([a, b], [c], [b], [])] == [""] * 4
    told = heard(plan)
    assert [f"user/{name}.py: on_it broke" in told for name in "abc"] == [False, True, True]
    assert heard(plan, a, b, c) == ""


def test_a_blank_print_is_nobodys_fault(tmp_path: Path) -> None:
    """White space is no answer that anybody could miss; the first word is."""
    plan = [call(tmp_path, "a")]

    assert heard(plan, printed=" \n") == ""
    assert "printed, which nobody reads" in heard(plan, printed="\nx")


@each_row("change", [{"off": True}, {"trusted": False}, {"faults": ()}])
def test_a_file_that_nobody_would_call_is_at_no_fault(tmp_path: Path, change: dict[str, object]) -> None:
    """One that is switched off or not trusted may be broken: nothing is logged, remembered or told."""
    file = replace(handler(tmp_path), faults=("line 1: cannot be read",))
    unused = replace(file, **change)  # type: ignore[arg-type]
    faults.note_unusable("PreToolUse", [unused], session="s")
    assert (faults.of(file), log.tail(1), heard([call(tmp_path, "other")])) == ("", [], "")

    faults.note_unusable("PreToolUse", [file], session="s")
    assert "line 1: cannot be read" in faults.of(file)
    assert "line 1: cannot be read" in heard([call(tmp_path, "other")])


@each_row(
    "first, second, conflict",
    [
        (environment({"A": "1"}), environment({"A": "2"}), "environment() for A"),
        (environment({"A": "1"}), environment({"A": "1"}), ""),
        (environment({"A": "1"}), environment({"B": "2"}), ""),
        (worktree("/a"), worktree("/b"), "worktree()"),
        (worktree("/a"), worktree("/a"), ""),
    ],
)
def test_only_two_handlers_with_different_values_are_in_each_others_way(
    tmp_path: Path, first: Outcome, second: Outcome, conflict: str
) -> None:
    """Equal values, and one handler that corrects itself, are no conflict; the later one of two is named."""
    a, b = plan = [call(tmp_path, "a"), call(tmp_path, "b")]
    faults.note_conflicts(START, plan, [Answer(a.label, (first, second))])
    assert log.tail(1) == []

    faults.note_conflicts(START, plan, [Answer(a.label, (first,)), Answer(b.label, (second,))])
    assert faults.of(a.file) == ""
    assert faults.of(b.file).partition("answers ")[2].partition(",")[0] == conflict
