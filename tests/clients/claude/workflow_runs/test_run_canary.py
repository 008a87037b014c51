"""The canary for the client's files names the one fact that changed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude.workflow_runs import NAME
from tests.client import run_files

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"
RUN = "wf_d604c20b-bc1"
LABELS = {f"a{number}" for number in range(1, 7)}
SCRIPT = (DATA / "six.js").read_text("utf-8")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """The folder of a session with the recorded run, which has ended."""
    made = tmp_path / "session"
    folder = made / "subagents" / "workflows" / RUN
    folder.mkdir(parents=True)
    shutil.copy(DATA / "journal.jsonl", folder / NAME)
    (made / "workflows" / "scripts").mkdir(parents=True)
    (made / "workflows" / "scripts" / f"six-{RUN}.js").write_text(SCRIPT, "utf-8")
    (made / "workflows" / f"{RUN}.json").write_text('{"status": "completed"}', "utf-8")
    return made


def changes(session: Path, *, ended: bool = True) -> list[str]:
    """Return what the canary says."""
    return run_files.changes(session.with_suffix(".jsonl"), RUN, SCRIPT, LABELS, ended=ended)


def edited(before: str, after: str) -> Callable[[Path], None]:
    """Return a change of the journal's text."""

    def change(session: Path) -> None:
        file = session / "subagents" / "workflows" / RUN / NAME
        text = file.read_text("utf-8")
        assert before in text
        file.write_text(text.replace(before, after), "utf-8")

    return change


def moved(before: str, after: str) -> Callable[[Path], None]:
    """Return a change of a file's or a folder's name."""

    def change(session: Path) -> None:
        for each in session.glob(before):
            each.rename(each.with_name(after))

    return change


def test_the_recorded_files_are_as_known(session: Path) -> None:
    """Nothing is said, and the recorded client's fact of an unfinished run is another."""
    assert changes(session) == []
    assert changes(session, ended=False) == [f"record: workflows/{RUN}.json is there before the run's end"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (moved("subagents/workflows", "runs"), "folder: no <session>/subagents/workflows/"),
        (moved(f"subagents/workflows/{RUN}/journal.jsonl", "log.jsonl"), "folder: no "),
        (edited('"v2:', '"v3:'), "key version: ['v3'] in place of v2"),
        (edited('"type":"result"', '"type":"done"'), "line: the journal has lines of the unknown kind 'done'"),
        (edited('"agentId"', '"agent"'), "line: 'result' has no ['agentId']"),
        (edited('"label"', '"title":1,"label"'), "line: 'started' has the new ['title']"),
        (edited('"label":"a1"', '"label":"b1"'), "labels: "),
        (moved(f"workflows/{RUN}.json", "run.json"), f"record: workflows/{RUN}.json is missing after the run's end"),
        (moved("workflows/scripts/*.js", "script.js"), f"script: workflows/scripts/<name>-{RUN}.js is not the script"),
    ],
)
def test_one_line_says_what_changed(session: Path, change: Callable[[Path], None], said: str) -> None:
    """Each fact that Holdfast stands on, and no line for what follows from it."""
    change(session)
    found = changes(session)
    assert found
    assert found[0].startswith(said)
    assert len(found) == 1 or all(each.startswith("line: ") for each in found)
