"""Each row of the score, played once with small numbers, and rows that must fail because something is broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from tools.survival import report, samples, trials
from tools.survival.conversation import UNTOLD
from tools.survival.ordinary import PLANTED
from tools.survival.rows import ROWS
from tools.survival.samples import FORMATS
from tools.survival.trials import Job

if TYPE_CHECKING:
    from tools.survival.result import Result

SMALL = Job(cycles=1, adverse=1, facts=trials.LEAST, instants=3)
TWICE = {"fork", "new session id", "reply lost", "in a subagent"}  # whose second compaction is another than the first
IN_CI = [name for name, row in ROWS.items() if row.quick and name != "warm"]
"""A row for each kind of trouble; `test_formats.py` plays "warm" in every format, and `make nightly` the others."""
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


def play(name: str, format_name: str = "", job: Job = SMALL) -> Result:
    """Play one row."""
    job = replace(job, adverse=2) if name in TWICE else job
    own = "hybrid" if name in HYBRID else "wfs" if name in WFS else "compaction"
    return trials.one(job, name, format_name or (own if own in ROWS[name].formats else ROWS[name].formats[0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_CI else pytest.mark.nightly) for name in ROWS]
)
def test_a_row_holds(name: str) -> None:
    """Nothing lost, nothing false, once each, within the budget, in the same bytes."""
    found = play(name)
    assert found.holds, "\n".join(report.complaints([found]))
    assert found.skipped or (found.compactions and found.planted >= trials.LEAST - 1)  # an agent may be dead


def test_every_format_is_played() -> None:
    """Whose sample is in `tools/survival/samples`; each sample is of a format that there is."""
    found = {file.stem for file in Path(samples.__file__).parent.glob("*.py")} - {"__init__", "described"}
    assert found == set(FORMATS)
    assert SMALL.parts[:3] == [("warm", "hybrid"), ("warm", "compaction"), ("warm", "wfs")]
    assert SMALL.parts[-1] == ("no workflow", "trail")
    assert replace(SMALL, rows=("warm", "no workflow"), formats=("hybrid",)).parts == [
        ("warm", "hybrid"),
        ("no workflow", "trail"),
    ]
    assert "kill -9" not in {row for row, _ in SMALL.parts}


def own(name: str, handler: str) -> None:
    """Write a handler as the user's own."""
    paths.user_handlers().mkdir(parents=True)
    (paths.user_handlers() / f"{name}.py").write_text(handler)


@pytest.mark.slow
def test_a_row_does_not_hold_where_nothing_is_restored(tmp_path: Path) -> None:
    """A user's own handler runs on the stage in place of the shipped one, and forgets what that is for."""
    own(
        "restore_workflow",
        "from holdfast import environment, hookimpl, paths\n\n\n@hookimpl\ndef on_session_start(event, context):\n"
        '    """Let the model call the command line."""\n'
        '    return environment({"HOLDFAST_PROJECT_DIR": str(context.root)}, path=[str(paths.command_dir())])\n',
    )
    found = play("no PostCompact", job=Job(adverse=1, facts=trials.LEAST, here=tmp_path))
    assert not found.holds
    assert found.inline == 0
    assert [text for text in found.lost if "workflow title-" in text]
    assert [text for text in found.faults if "came 0 times" in text]


@pytest.mark.slow
def test_a_row_does_not_hold_where_a_handler_says_what_is_not_so(tmp_path: Path) -> None:
    """A user's own handler runs on the stage; what it adds to a prompt is guidance that nobody asked for."""
    said = "WORKFLOW RESTORED AFTER COMPACTION\\nPhase: 1/9 - old"
    own(
        "mine",
        "from holdfast import advise, hookimpl\n\n\n@hookimpl\ndef on_user_prompt_submit(event):\n"
        f'    """Say something."""\n    return advise("{said}")\n',
    )
    found = play("no PostCompact", job=Job(adverse=1, facts=trials.LEAST, here=tmp_path))
    assert not found.holds
    assert [text for text in found.faults if text.startswith("guidance without a compaction")]
    assert [text for text in found.faults if "came 2 times" in text]
    assert [text for text in found.false if "stale: phase 1/9" in text]
    assert found.recoverable == found.planted


@pytest.mark.slow
def test_a_row_is_scored_where_no_handler_tells_the_model_the_project(tmp_path: Path) -> None:
    """A user's own handler replaces the shipped one and leaves that out: it is named, once, and all else is judged."""
    own("restore_workflow", "from holdfast import hookimpl\n\n\n@hookimpl\ndef on_stop(event):\n    pass\n")
    found = play("no PostCompact", job=Job(adverse=2, facts=trials.LEAST, here=tmp_path))
    assert not found.holds
    assert [text for text in found.faults if "restore_workflow has to return environment(...)" in text] == [UNTOLD]
    assert not [text for text in found.faults if "could not go on" in text]
    assert (found.compactions, found.inline) == (3, 0)
    assert [text for text in found.lost if "workflow title-" in text]


@pytest.mark.slow
def test_the_row_without_a_workflow_does_not_hold_where_there_is_no_trail() -> None:
    """A user switched it off."""
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text("trail = false\n")
    found = play("no workflow", job=Job(adverse=1, here=paths.config_dir()))
    assert not found.holds
    assert (found.inline, found.planted, found.short) == (0, 2 * PLANTED, 2)
    assert [text for text in found.faults if "came 0 times" in text]
    assert any("lost: compaction 1: request canary-" in line for line in report.complaints([found]))


@pytest.mark.slow
def test_the_row_without_a_workflow_does_not_hold_where_the_newest_transcript_wins(tmp_path: Path) -> None:
    """A user's own handler gives the trail of whichever session of the folder wrote last."""
    own(
        "restore_workflow",
        "from pathlib import Path\n\nfrom holdfast import advise, hookimpl\n"
        "from holdfast.clients.claude import claude\n"
        "from holdfast.trail import text as trail\n\n\n@hookimpl\ndef on_session_start(event, context):\n"
        '    """Restore the newest."""\n    if event.source == "compact":\n'
        '        files = Path(event.transcript_path).parent.glob("*.jsonl")\n'
        "        newest = max(files, key=lambda file: file.stat().st_mtime_ns)\n"
        "        done = claude.reader().trail(str(newest))\n"
        "        return advise(trail.text(done, branch=context.project.branch, root=context.root))\n",
    )
    found = play("no workflow", job=Job(adverse=1, here=tmp_path))
    assert not found.holds
    assert [text for text in found.false if "foreign: canary-" in text]
    assert found.short == 2
    assert not [text for text in found.faults if text.startswith("guidance of compaction")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("off", "nothing was said of wf_"),
        pytest.param("tell", "would have run twice", marks=pytest.mark.nightly),
    ],
)
def test_the_row_of_agents_does_not_hold_where_they_are_launched_again(choice: str, said: str) -> None:
    """A user left them to the client, or wants only to be told."""
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text(f'agents = "{choice}"\n')
    found = play("agents", job=Job(adverse=1, facts=trials.LEAST, here=paths.config_dir()))
    assert not found.holds
    assert [text for text in found.faults if said in text]
    assert [text for text in found.faults if "the script would have run all of its agents" in text]
    assert found.recoverable == found.planted
