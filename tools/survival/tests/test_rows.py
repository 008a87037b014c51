"""Each row of the score, played once with small numbers, and rows that must fail because something is broken."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.processes import ROOT
from tools.survival import trials
from tools.survival.ordinary import PLANTED
from tools.survival.rows import ROWS
from tools.survival.trials import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testkit.place import Place
    from tools.survival.result import Result

SMALL = Job(cycles=1, adverse=1, facts=trials.LEAST, instants=3)
TWICE = {"fork", "new session id", "reply lost", "in a subagent"}  # whose second compaction is another than the first
IN_CI = {"no PreCompact", "new session id", "two sessions", "broken files", "agents", "no workflow"}
"""A row for each kind of trouble that no test of `tests/torture` shows; `make nightly` plays the others."""
# A row is played in one of the formats here, in all by `make simulate`.
HYBRID = {
    "warm",
    "by hand",
    "registered twice",
    "two worktrees",
    "in a subagent",
    "broken files",
    "names",
    "reply lost",
}
WFS = {"no PreCompact", "two sessions", "concurrent", "1,000 to-dos", "read-only folder"}


def play(name: str, job: Job = SMALL) -> Result:
    """Play one row."""
    job = replace(job, adverse=2) if name in TWICE else job
    own = "hybrid" if name in HYBRID else "wfs" if name in WFS else "compaction"
    return trials.one(job, name, own if own in ROWS[name].formats else ROWS[name].formats[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_CI else pytest.mark.nightly) for name in ROWS]
)
def test_a_row_holds(name: str) -> None:
    """Nothing lost, nothing false, once each, within the budget, in the same bytes."""
    found = play(name)
    assert found.holds, "\n".join(found.lines())
    assert found.skipped or found.planted >= trials.LEAST - 1  # an agent may be dead


def test_the_page_has_a_row_for_every_row() -> None:
    """`make score` wrote it from the rows that there are; its figures are not looked at."""
    table = (ROOT / "docs" / "survival-score.md").read_text("utf-8").partition("<!-- score:")[2]
    named = re.findall(r"^\| ([^|]+) \| (\w+(?:, \w+)*) \|", table, re.MULTILINE)[1:]
    assert named == [(row, ", ".join(ROWS[row].formats)) for row in ROWS]


def handler(name: str, text: str) -> Callable[[Place], object]:
    """Return what writes a handler as the user's own."""
    return lambda made: made.write(made.home / f".config/holdfast/handlers/{name}.py", text)


def config(text: str) -> Callable[[Place], object]:
    """Return what writes the user's configuration."""
    return lambda made: made.write(made.home / ".config/holdfast/holdfast.toml", text)


RESTORES_NOTHING = '''
from holdfast import environment, hookimpl, paths
@hookimpl
def on_session_start(event, context):
    """Let the model call the command line."""
    return environment({"HOLDFAST_PROJECT_DIR": str(context.root)}, path=[str(paths.command_dir())])
'''
SAYS_WHAT_IS_NOT_SO = '''
from holdfast import advise, hookimpl
@hookimpl
def on_user_prompt_submit(event):
    """Say something."""
    return advise("WORKFLOW RESTORED AFTER COMPACTION\\nPhase: 1/9 - old")
'''
NEWEST_TRANSCRIPT = '''
from pathlib import Path
from holdfast import advise, hookimpl
from holdfast.clients.claude import claude
from holdfast.trail import text as trail
@hookimpl
def on_session_start(event, context):
    """Restore the session that wrote last."""
    if event.source == "compact":
        files = Path(event.transcript_path).parent.glob("*.jsonl")
        newest = max(files, key=lambda file: file.stat().st_mtime_ns)
        done = claude.reader().trail(str(newest))
        return advise(trail.text(done, branch=context.project.branch, root=context.root)[0])
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "prepare", "complaints"),
    [
        ("no PostCompact", handler("restore_workflow", RESTORES_NOTHING), ("workflow title-", "came 0 times")),
        (
            "no PostCompact",
            handler("mine", SAYS_WHAT_IS_NOT_SO),
            ("guidance without a compaction", "came 2 times", "stale: phase 1/9"),
        ),
        ("no workflow", config("trail = false\n"), ("lost: compaction 1: request canary-", "came 0 times")),
        ("no workflow", handler("restore_workflow", NEWEST_TRANSCRIPT), ("foreign: canary-",)),
        ("agents", config('agents = "off"\n'), ("nothing was said of wf_", "would have run all of its agents")),
        pytest.param(
            *("agents", config('agents = "tell"\n'), ("would have run twice", "would have run all of its agents")),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_row_does_not_hold_where_something_is_broken(
    row: str, prepare: Callable[[Place], object], complaints: tuple[str, ...]
) -> None:
    """A user's own handler runs in place of the shipped one, or a user switched something off."""
    facts = PLANTED if row == "no workflow" else trials.LEAST
    found = play(row, Job(adverse=1, facts=facts, prepare=prepare))
    assert not found.holds
    assert [words for words in complaints if words not in "\n".join(found.complaints)] == [], found.complaints
