"""Detection method 2: which plan counts."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.formats.compaction.detection import plan_file
from tests.tables import each_row
from tests.workflow import samples

if TYPE_CHECKING:
    from holdfast.formats.compaction.detection.extract import Extract
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put
    from tests.workflow.samples import Sample

PLAN = "# Plan 001: User Auth\n\n**Status**: 🔄 In Progress\n\n## Phase 1: Design\n\n- [ ] Sketch\n"


def newest(root: Path) -> Extract | None:
    """Return the last changed plan in progress."""
    return next(iter(plan_file.active(root, math.inf)), None)


def names(project: Workspace) -> list[str]:
    """Return the workflows that all plans in progress name, the first of them the one that counts."""
    return [extract.name for each in plan_file.look(project.root) if (extract := each.extract)]


@each_row("sample", samples.of("plans"), ids=str)
def test_a_plan_kept_by_hand_is_read_as_it_is_meant(sample: Sample, tmp_path: Path) -> None:
    """R001-22, R001-27, I001-14, I001-15: no false workflow, none missed, and the reason for either."""
    folder = sample.expected.get("folder", sample.name)
    path = tmp_path / "CLAUDE/Plan" / folder / "PLAN.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(sample.raw)

    [candidate] = plan_file.look(tmp_path)
    extract = candidate.extract

    assert candidate.path == path
    assert newest(tmp_path) == extract
    if sample.why:
        assert extract is None, candidate.reason
        assert sample.why in candidate.reason
    else:
        assert extract is not None, candidate.reason
        assert candidate.reason.startswith("is in progress (")
        assert (extract.name, f"{extract.current}/{extract.total} {extract.phase}") == (
            sample.expected["name"],
            sample.expected["at"],
        )
        assert extract.context.get("plan_number") == sample.expected.get("number")
        own, *others = extract.reading
        assert own == f"@CLAUDE/Plan/{folder}/PLAN.md"
        assert others == sample.expected.get("reading", [])


def test_the_plan_in_the_guide_counts(project: Workspace, put: Put) -> None:
    """It names the workflow that its title says."""
    guide = (Path(__file__).parents[4] / "docs/guides/format-compaction.md").read_text("utf-8")
    put("CLAUDE/Plan/001/PLAN.md", guide.split("## In a plan")[1].split("```markdown\n")[1].split("```")[0])

    assert names(project) == ["User auth"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "broken link", "loop"])
def test_what_is_no_file_is_said_and_not_waited_for(project: Workspace, put: Put, kind: str) -> None:
    """R001-27: a plan that cannot be read costs none of the others."""
    put("CLAUDE/Plan/good/PLAN.md", PLAN, age=100)
    odd = project.root / "CLAUDE/Plan/odd/PLAN.md"
    odd.parent.mkdir()
    if kind == "folder":
        odd.mkdir()
    elif kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to("nowhere" if kind == "broken link" else "PLAN.md")
    looked = {candidate.path.parent.name: candidate for candidate in plan_file.look(project.root)}
    assert looked["good"].extract
    assert names(project) == ["User Auth"]
    assert newest(project.root) is not None
    if kind == "broken link":
        assert "odd" not in looked
    else:
        assert looked["odd"].reason.startswith("cannot be read: ")


def test_a_folder_whose_name_is_no_text_is_a_plan_all_the_same(project: Workspace) -> None:
    """Names are bytes; what is taken from them can be written as UTF-8."""
    folder = project.root / "CLAUDE" / "Plan" / os.fsdecode(b"\xff")
    folder.mkdir(parents=True)
    (folder / "PLAN.md").write_text("Status: In Progress\nphase\n", encoding="utf-8")
    active = newest(project.root)
    assert active is not None
    assert active.name.encode("utf-8") == b"?"
    assert active.reading == ("@CLAUDE/Plan/?/PLAN.md",)


def test_a_huge_plan_is_read_up_to_its_limit_and_the_reason_says_so(project: Workspace, put: Put) -> None:
    """Bounded by bytes for each file: a status in the first 256 KB counts, one behind them does not."""
    put("CLAUDE/Plan/early/PLAN.md", f"{PLAN}{'word ' * 400_000}\n")
    assert names(project) == ["User Auth"]
    put("CLAUDE/Plan/early/PLAN.md", "# Late\n" + "words\n" * 60_000 + PLAN)
    [candidate] = plan_file.look(project.root)
    assert candidate.reason == 'has no status line and no "🔄 In Progress" (its first 256 KB were read)'
