"""The journal of a Workflow run, as a client wrote it: what it says, and how its copy is repaired."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.claude.workflow_runs import NAME, WorkflowRuns
from tests.tables import each_row

runs = WorkflowRuns()
DATA = Path(__file__).parent / "data"
LINES = (DATA / "journal.jsonl").read_text("utf-8").splitlines()
SECOND = "a0f70a5fa9d72723f"


def written(folder: Path, *lines: str, end: str = "\n") -> Path:
    """Write a journal of lines, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text("\n".join(lines) + end, "utf-8")
    return folder


def line(kind: str, number: int, **more: Any) -> str:
    """Return a line about an agent of the recorded run."""
    found = next(each for each in map(json.loads, LINES) if each.get("label") == f"a{number}")
    return json.dumps({"type": kind, "key": found["key"], "agentId": found["agentId"]} | more)


def carried(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal's repaired copy."""
    target = folder.parent / "copy" / "subagents" / "workflows" / "wf_copied"
    shutil.rmtree(target.parents[2], ignore_errors=True)
    target.parents[2].mkdir()
    assert runs.carry(folder, target)
    return [json.loads(each) for each in (target / NAME).read_text("utf-8").splitlines()]


def kept(folder: Path) -> list[tuple[str, str]]:
    """Return the kinds and agents of the lines that a repaired journal has."""
    return [(each["type"], each.get("agentId", "")) for each in carried(folder)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session's folder with the recorded run."""
    return written(tmp_path / "session" / "subagents" / "workflows" / "wf_d604c20b-bc1", *LINES)


def test_a_recorded_journal_says_what_each_agent_returned(folder: Path) -> None:
    """Agents stand in the order of their calls, not of their results."""
    found = runs.journal(folder)
    assert found is not None
    assert [(each.label, each.result) for each in found.agents] == [(f"a{n}", f"RESULT-{n}") for n in range(1, 7)]
    assert (found.done, found.known, found.whole) == (6, True, True)


def test_a_journal_that_needs_no_repair_keeps_every_line(folder: Path) -> None:
    """The copy says the same."""
    assert carried(folder) == [*map(json.loads, LINES)]


S, R, F = "started", "result", "failed"


@each_row(
    "lines, stay, states",
    [
        ([S, F], [S], "failed"),
        ([S, R, S], [S, R], "finished"),
        ([S, R, F], [S, R], "finished"),
        ([S, F, S, R], [S, F, S, R], "finished"),
        ([S, R, F, S, R, S, F], [S, R, F, S, R], "finished"),
        ([S, R, S, R], [S, R, S, R], "finished"),
        ([S, F, S], [S, S], "started"),
        ([S, S], [S, S], "started"),
    ],
)
def test_what_ends_the_clients_cache_goes(tmp_path: Path, lines: list[str], stay: list[str], states: str) -> None:
    """After a last result, and failures of what has none. What is before stays: later keys depend on it."""
    written(
        tmp_path, LINES[0], *(line(kind, 1, **({"result": "R"} if kind == R else {})) for kind in lines), *LINES[3:5]
    )
    assert [kind for kind, agent in kept(tmp_path) if agent == json.loads(line(S, 1))["agentId"]] == stay
    found = runs.journal(tmp_path)
    assert found is not None
    assert found.agents[0].state == states
    assert found.whole is (lines == stay)


@each_row("result", ["", None, [], {}, 0, False])
def test_an_empty_result_is_one(tmp_path: Path, result: object) -> None:
    """The client serves it as any other. The text of one that is no string is JSON."""
    written(tmp_path, line("started", 1), line("result", 1, result=result))
    found = runs.journal(tmp_path)
    assert found is not None
    assert (found.done, found.whole) == (1, True)
    assert found.agents[0].result == ("" if result in ("", None) else json.dumps(result))


def test_a_script_that_the_client_hides_is_unknown(tmp_path: Path) -> None:
    """Another process may not resume its runs, also once its own has."""
    hidden = '{"type":"launched","hiddenScriptSha256":"ab"}'
    found = runs.journal(written(tmp_path, hidden, *LINES[1:], '{"type":"resumed"}'))
    assert found is not None
    assert not found.known


def test_a_last_line_that_a_kill_cut_off_is_left_out(tmp_path: Path) -> None:
    """The other lines count."""
    written(tmp_path, *LINES[:4], LINES[5][:90], end="")
    assert kept(tmp_path)[-1] == ("result", SECOND)
    found = runs.journal(tmp_path)
    assert found is not None
    assert (found.done, found.known) == (1, True)


@each_row(
    "strange",
    ['{"type":"result","key":"v3:00","agentId":"a","result":"R"}', '{"type":"paused","key":"v2:0"}', '{"type":[]}'],
)
def test_another_version_of_keys_or_lines_is_unknown(tmp_path: Path, strange: str) -> None:
    """A journal with one such line is not used."""
    found = runs.journal(written(tmp_path, *LINES, strange))
    assert found is not None
    assert not found.known


def test_a_journal_is_carried_whole_once_and_the_earlier_one_stays(folder: Path, tmp_path: Path) -> None:
    """A folder that is there, perhaps a live run's, is never written to."""
    before = (folder / NAME).read_bytes()
    (tmp_path / "other").mkdir()
    target = tmp_path / "other" / "subagents" / "workflows" / folder.name
    assert not (tmp_path / "nowhere").exists()
    assert not runs.carry(folder, tmp_path / "nowhere" / "x" / "subagents" / "workflows" / folder.name)
    assert runs.carry(folder, target)
    assert [each.name for each in target.parent.iterdir()] == [folder.name], "no half-made folder is left"
    (target / NAME).write_text("mine")
    assert not runs.carry(folder, target)
    assert (target / NAME).read_text() == "mine"
    assert (folder / NAME).read_bytes() == before
    assert not runs.carry(tmp_path / "none", tmp_path / "other" / "subagents" / "workflows" / "wf_none-at-all")


def test_the_folder_of_a_run_is_beside_its_transcript(folder: Path) -> None:
    """A run id that could lead elsewhere has no folder."""
    transcript = f"{folder.parents[2]}.jsonl"
    assert runs.folder(transcript, folder.name) == folder
    assert runs.folder(transcript, "wf_../../../etc") is None
    assert runs.folder("transcript", folder.name) is None
    assert runs.run_of(str(folder / "agent-x.jsonl")) == folder.name
    assert runs.run_of("/s/subagents/agent-x.jsonl") == ""


def test_a_run_has_ended_when_its_record_says_so(folder: Path) -> None:
    """Without a record it has not; a record that can't be read says nothing."""
    record = folder.parents[2] / "workflows" / f"{folder.name}.json"
    assert runs.ended(folder) == ""
    record.parent.mkdir()
    for text, state in (('{"status":"completed"}', "completed"), ('{"status":"failed"}', "failed"), ("{", "")):
        record.write_text(text)
        assert runs.ended(folder) == state


def test_an_agent_is_carried_with_its_transcript(tmp_path: Path) -> None:
    """So SendMessage finds it in a new session. What is there already is left alone."""
    source = tmp_path / "one" / "subagents"
    source.mkdir(parents=True)
    (source / "agent-abc.jsonl").write_text("said")
    (source / "agent-abc.meta.json").write_text("{}")
    one, two = str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")
    assert runs.carry_agent(one, "abc", two)
    target = tmp_path / "two" / "subagents"
    assert sorted(each.name for each in target.iterdir()) == ["agent-abc.jsonl", "agent-abc.meta.json"]
    (target / "agent-abc.jsonl").write_text("went on")
    assert runs.carry_agent(one, "abc", two)
    assert (target / "agent-abc.jsonl").read_text() == "went on"
    assert not runs.carry_agent(one, "unknown", two)
    assert not runs.carry_agent(one, "../abc", two)


@each_row(
    "text, found",
    [
        ("Go on with wf_d604c20b-bc1, then with wf_0a1b2c3d-4e5.", ["wf_d604c20b-bc1", "wf_0a1b2c3d-4e5"]),
        ("resumeFromRunId: 'wf_d604c20b-bc1' (wf_d604c20b-bc1)", ["wf_d604c20b-bc1"]),
        ("/s/subagents/workflows/wf_d604c20b-bc1/journal.jsonl", ["wf_d604c20b-bc1"]),
        ("wf_short wf_UPPERCASE my_wf_d604c20b wf_d604c20b_bc1 xwf_d604c20b", []),
        ("", []),
    ],
)
def test_the_runs_that_a_text_names(text: str, found: list[str]) -> None:
    """Each once, in order, and only what can be an id."""
    assert runs.named_in(text) == found
