"""Document 001, what stands in the model's context after a compaction (R001-16 to -18, I001-9 to -12, -18 to -21)."""

from __future__ import annotations

import json
import os
import re
import time
from typing import TYPE_CHECKING

import pytest

from tests import processes
from tests.handmade import ME, OTHER
from tests.requirements import document_001 as document
from tests.requirements.document_001 import FOLDER, RESTORED, Desk, acknowledgement, assert_order, state, under

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

DAY = 86_400.0


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


def test_without_a_state_file_there_is_no_guidance(desk: Desk) -> None:
    """R001-16: none under ./untracked/workflow-state/*/ → allow, and the model reads nothing."""
    desk.put("untracked/workflow-state/state-loose-20251209_143052.json", state("Loose"))
    desk.put("untracked/state-x/state-x-20251209_143052.json", state("Elsewhere"))
    desk.keep(state("Deeper"), "a/b")
    desk.put(f"{FOLDER}/notes/notes-20251209_143052.json", state("Other name"))

    fired = desk.begin()

    assert fired.context == ""
    assert "systemMessage" not in fired.reply


@pytest.mark.parametrize("newest", ["first", "second", "third"])
def test_the_most_recently_changed_file_is_restored(desk: Desk, newest: str) -> None:
    """R001-16: sorted by modification time, newest first; not by name, directory or time of creation."""
    for number, name in enumerate(("second", "third", "first")):
        desk.keep(state(name), name, age=0 if name == newest else 100 + number)

    text = desk.begin().context

    assert f"Workflow: {newest}" in text
    assert f"{newest} reminder" in text


def test_restoring_deletes_and_writes_nothing(desk: Desk) -> None:
    """R001-16: the file is never deleted, and a restore changes neither its bytes nor its time."""
    paths = [
        desk.keep(state("A"), "a"),
        desk.keep(state("B", phase={"current": 3, "status": "completed"}), "b", age=60),
    ]
    paths.append(desk.keep("{", "c", age=30))
    before = [(path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in paths]

    for _ in range(3):
        desk.begin()

    assert [(path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in paths] == before


@pytest.mark.parametrize("name", document.EXAMPLES)
def test_the_guidance_holds_everything_the_document_asks_for(desk: Desk, name: str) -> None:
    """R001-17, R001-18: phase, readings, reminders and context; then acknowledge, read, confirm, assume nothing.

    Every character of it is paid for in each session.
    """
    assert len(document.words("guidance-parts.md").splitlines()) == 5
    assert document.words("acknowledgement.txt").strip() in document.words("after-compaction.md")
    data = document.example(name)
    for entry in data["required_reading"]:
        desk.put(entry.removeprefix("@"), "read me")
    desk.keep(document.words(f"{name}.json"), "example")

    text = desk.begin().context

    phase = data["phase"]
    assert f"Workflow: {data['workflow']}\n" in text
    assert f"Phase: {phase['current']}/{phase['total']} - {phase['name']} ({phase['status']})" in text
    assert under(text, "REQUIRED READING") == data["required_reading"]
    assert under(text, "Key reminders") == data["key_reminders"]
    assert under(text, "Context:") == [f"{key}: {value}" for key, value in data["context"].items()]
    given, _, asked = text.partition("ACTION REQUIRED\n")
    assert acknowledgement(data) == given.splitlines()[-2]
    assert "Print the ✅ line" in asked
    assert re.search(r"\bread\w* ALL files\b", asked)
    assert re.search(r"\bconfirm\w*\b[^\n]*\bphase\b[^\n]*\bcontext\b", asked)
    assert re.search(r"\bDon't assume\b", asked)
    assert len(text) <= 700


def test_the_acknowledgement_is_of_the_phase_that_was_restored(desk: Desk) -> None:
    """R001-18: {workflow}, {current} and {total} are this workflow's, now."""
    desk.run("start", "QA Loop", "--phase", "Run", "--phase", "Fix", "--phase", "Verify", session=ME)
    for current in (1, 2, 3):
        assert f"✅ Workflow restored: QA Loop, Phase {current}/3" in desk.compaction()
        desk.run("done", session=ME)


def test_the_form_of_the_guidance_is_the_documents(desk: Desk) -> None:
    """I001-20: §5's order, the headings on their own lines, and under them plain sentences.

    Orders in capitals, or one after another in a list, read as an injection attack.
    """
    desk.keep(document.words("required-fields.json"), "example")

    text = desk.begin().context

    lines = ["Workflow: Feature", "Phase: 2/5", "REQUIRED READING\n", "Key reminders", "Context", "ACTION REQUIRED\n"]
    assert_order(text, lines)
    assert {"REQUIRED READING", "ACTION REQUIRED"} <= set(text.splitlines())
    assert text.count("REQUIRED READING\n") == text.count("ACTION REQUIRED\n") == 1
    asked = text.partition("ACTION REQUIRED")[2]
    order = r"^(?:\d+\. |- )?(?:You must|Must|Read|Acknowledge|Confirm|Do not|Never|Always)\b"
    assert re.findall(order, asked, re.IGNORECASE | re.MULTILINE) == []
    assert set(re.findall(r"\b[A-Z]{2,}\b", asked)) <= {"ALL"}


@pytest.mark.parametrize(
    ("field", "heading"),
    [("required_reading", "REQUIRED READING"), ("key_reminders", "Key reminders"), ("context", "Context:")],
)
def test_empty_sections_are_left_out(desk: Desk, field: str, heading: str) -> None:
    """I001-20: nothing to read is no heading; the others stay."""
    data = document.example("required-fields")
    headings = ("REQUIRED READING", "Key reminders", "Context:")
    desk.keep(data | {field: type(data[field])()})

    lines = desk.begin().context.splitlines()

    present = [each for each in headings if any(line.startswith(each) for line in lines)]
    assert present == [each for each in headings if each != heading]


def test_reading_that_is_gone_is_listed_as_missing(desk: Desk) -> None:
    """I001-21: listed all the same, with what is wrong with it."""
    desk.put("docs/there.md", "x")
    desk.keep(state("A", required_reading=["@docs/there.md", "@docs/gone.md", "@gone.md"]))

    entries = under(desk.begin().context, "REQUIRED READING")

    assert entries == ["@docs/there.md", "@docs/gone.md (missing)", "@gone.md (missing)"]
    (desk.root / "docs" / "there.md").unlink()
    assert under(desk.begin().context, "REQUIRED READING")[0] == "@docs/there.md (missing)"


def test_the_newest_is_given_in_full_and_the_others_in_a_line_each(desk: Desk) -> None:
    """I001-9: once over all formats; where nobody else could own one, none is invisible."""
    desk.keep(state("Older"), "older", age=300)
    desk.run("start", "Hybrid one", "--format", "hybrid", "--phase", "Build @builder")
    hybrid = desk.root / ".claude" / "state" / "workflow.json"
    os.utime(hybrid, (time.time() - 200, time.time() - 200))
    desk.keep(state("Newest"), "newest")

    text = desk.begin().context

    assert text.count("Workflow: ") == 1
    assert "Workflow: Newest" in text
    assert "Older reminder" not in text
    for title, format_, position in (("Older", "compaction", "2/3"), ("Hybrid one", "hybrid", "0/1")):
        (line,) = [line for line in text.splitlines() if f'"{title}"' in line]
        assert f"({format_})" in line
        assert position in line


def test_agent_made_state_outranks_what_a_plan_gave(desk: Desk) -> None:
    """I001-9: the file a plan was turned into a moment ago does not shadow the one an agent keeps."""
    desk.keep(state("Kept by an agent"), "kept", age=300)
    plan = "# Plan 001: Derived\n\n**Status**: 🔄 In Progress\n\n## Phase 1: A\n\n- [ ] a\n"
    desk.put("CLAUDE/Plan/001-derived/PLAN.md", plan)

    text = desk.compaction()

    assert "Workflow: Kept by an agent" in text
    assert '"Derived" (compaction): phase 1/1' in text
    desk.run("update", "Derived", "--total", "3", session=ME)  # an agent moves it now
    assert "Workflow: Derived" in desk.compaction()


def test_what_another_live_session_could_own_is_given_to_nobody(desk: Desk) -> None:
    """I001-9: the newest is for whom it can belong to; beside another session a wrong restore is worse than none."""
    desk.begin("startup", session=OTHER)
    desk.keep(state("Somebody's"))

    fired = desk.begin(session=ME)

    assert "Somebody's" not in fired.stdout
    assert fired.context.startswith("Holdfast restored no workflow: 1 here could belong to another live session.")
    assert "holdfast status" in fired.reply["systemMessage"]


@pytest.mark.parametrize(("days", "full"), [(0.0, True), (6.9, True), (7.1, False), (90.0, False)])
def test_a_file_never_seen_before_is_as_fresh_as_its_modification_time(desk: Desk, days: float, full: bool) -> None:
    """I001-10: what lay there for more than a week is mentioned, not restored."""
    desk.keep(state("A"), age=days * DAY)

    text = desk.begin().context

    assert (RESTORED in text) is full
    assert "A" in text


def test_a_touched_file_is_no_fresher_than_its_content(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """I001-10: freshness counts from the last change of content the ledger saw; a checkout changes only the time."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    desk.run("start", "Ancient", "--phase", "One", "--remind", "old reminder")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-06-01T10:00:00Z")
    path, text = desk.file, desk.file.read_bytes()
    path.unlink()
    path.write_bytes(text)
    os.utime(path, (1_780_308_000, 1_780_308_000))  # 2026-06-01T10:00:00Z

    said = desk.compaction()
    assert RESTORED not in said
    assert '"Ancient" (compaction)' in said

    desk.run("update", "--remind", "new reminder")
    assert RESTORED in desk.compaction()


def test_files_of_the_same_time_are_put_in_order_by_their_name(desk: Desk) -> None:
    """I001-10: ties are broken by name, the same way in every list, in whatever order the files were made."""
    orders = []
    for names in (("alpha", "beta", "gamma"), ("gamma", "beta", "alpha")):
        for name in names:
            path = desk.keep(state(name), name)
            os.utime(path, (time.time() // 1, 1_900_000_000))
        listed = [row["title"] for row in desk.run("status", "--json").json["workflows"]]
        restored = [ref.rpartition("/")[2].split("-")[1] for ref in desk.explain()["would_restore"]]
        orders += [listed, restored]
        for path in desk.files:
            path.unlink()
    assert orders == [sorted(orders[0])] * 4 or orders == [sorted(orders[0], reverse=True)] * 4

    for name in ("beta", "alpha"):
        os.utime(desk.keep(state(name), name), (1_900_000_000, 1_900_000_000))
    first, second = (row["title"] for row in desk.run("status", "--json").json["workflows"])
    text = desk.begin().context
    assert f"Workflow: {first}" in text
    assert f'"{second}" (compaction)' in text


CORRUPT = {
    "truncated": b'{"workflow": "Broken", "phase": {"cur',
    "empty": b"",
    "a list": b'[{"workflow": "Broken"}]',
    "no UTF-8": b'{"workflow": "Br\xff\xfeken"}',
    "nulls": b"\x00" * 512,
    "deep": b"[" * 100_000,
    "a conflict": b'<<<<<<< HEAD\n{"workflow": "Broken"}\n=======\n{"workflow": "Broken"}\n>>>>>>> x\n',
}


@pytest.mark.parametrize("content", CORRUPT)
def test_a_corrupt_newest_file_is_skipped_and_mentioned(desk: Desk, content: str) -> None:
    """I001-11: the next good one is restored, the bad one is named and left as it is, exit 0."""
    desk.keep(state("Good"), "good", age=60)
    bad = desk.keep(CORRUPT[content], "bad")

    text = desk.begin().context

    assert "Workflow: Good" in text
    assert RESTORED in text
    assert f"{FOLDER}/bad/{bad.name}" in text
    assert bad.read_bytes() == CORRUPT[content]


def test_where_every_file_is_corrupt_the_user_is_told_and_the_model_is_not(desk: Desk) -> None:
    """I001-11, R001-16: no guidance from what cannot be read; always allow."""
    bad = desk.keep(CORRUPT["truncated"], "bad")

    fired = desk.begin()

    assert fired.context == ""
    assert bad.name in fired.reply["systemMessage"]


def test_a_corrupt_file_that_was_seen_whole_is_restored_from_its_last_good_content(desk: Desk) -> None:
    """I001-11: its last generation is better than an older workflow, and it is said that the file is broken."""
    path = desk.keep(state("A"))
    desk.compaction()
    path.write_bytes(path.read_bytes()[:40])

    text = desk.begin().context

    assert "Workflow: A" in text
    assert path.name in text
    assert "the state file could not be read; this is its last good content" in text
    assert [problem["path"] for problem in desk.explain()["problems"]] == [str(path)]
    assert path.name in desk.run("status").out.partition("; the last content Holdfast kept is used")[0]


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork", "compacted", "COMPACT", "precompact", ""])
def test_only_a_compaction_puts_guidance_into_the_context(desk: Desk, source: str) -> None:
    """I001-12, R001-16, I001-18: a session that has lost nothing is told of it in a few lines at most."""
    desk.keep(state("A"))

    if source in ("startup", "resume", "clear", "fork"):
        told = desk.begin(source).context
        assert told.startswith("Unfinished workflow") and len(told) <= 600
    else:
        told = desk.project.fire("SessionStart", "SessionStart-compact", source=source).context
    assert RESTORED not in told
    assert RESTORED in desk.begin("compact").context


def test_a_rule_of_long_ago_is_told_before_later_requests(desk: Desk) -> None:
    """Without a workflow, the session's own transcript: first and last requests, those that set a rule, then others."""
    asked = [f"request {number:02} {'x' * 150}" for number in range(40)]
    asked[7] = "Always use tabs."
    shape = {"type": "user", "promptSource": "user", "timestamp": "2026-01-01T00:00:00Z", "isSidechain": False}
    entries = [
        shape | {"uuid": f"{n}", "message": {"role": "user", "content": [{"type": "text", "text": each}]}}
        for n, each in enumerate(asked)
    ]
    path = desk.put("session.jsonl", "".join(f"{json.dumps(each)}\n" for each in entries))

    told = desk.begin(transcript_path=str(path)).context

    assert_order(told, ["- request 39", "- request 00", "- Always use tabs.", "- request 38"])
    assert "- request 08" not in told


def test_a_compaction_that_never_announced_itself_is_restored(desk: Desk) -> None:
    """I001-12: PreCompact sometimes does not fire; the live state is read."""
    desk.run("start", "A", "--phase", "One", "--phase", "Two", session=ME)
    desk.run("done", session=ME)

    assert "Phase: 2/2 - Two" in desk.begin("compact").context


@pytest.mark.slow
def test_session_start_is_registered_for_every_source(desk: Desk) -> None:
    """I001-18: the matcher of SessionStart is the source; ours runs for all, and the code decides by the source."""
    printed = desk.run("install", "--print").json["hooks"]

    (group,) = printed["SessionStart"]
    assert group.get("matcher", "") in ("", "*")
    for source in ("startup", "resume", "clear", "fork", "compact"):
        assert desk.begin(source).variables == {"HOLDFAST_PROJECT_DIR": str(desk.root)}
    assert ME in {each["id"] for each in desk.run("status", "--json").json["sessions"]}


def test_the_real_characters_reach_the_client(tmp_path: Path) -> None:
    """I001-19: ✅ → in UTF-8 on the stdout of a real process, whatever the locale of the client is."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    data = state("✅ ⬜ 🔄 → Ärger", key_reminders=["├ └ │ ─"])
    place.write(f"{FOLDER}/a/state-a-20251209_143052.json", json.dumps(data, ensure_ascii=False))

    for locale in ("C", "tr_TR.ISO-8859-9"):
        environ = place.environ(LC_ALL=locale, LANG=locale)
        ended = place.fire(place.payload("SessionStart-compact"), "SessionStart", environ=environ)
        assert acknowledgement(data) in ended.advice
        assert "├ └ │ ─" in ended.advice
        announced = place.fire(place.payload("PreCompact-auto"), "PreCompact", environ=environ)
        assert '"✅ ⬜ 🔄 → Ärger"' in announced.stdout
