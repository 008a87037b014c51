"""Where things lie is known without loading a format, and is what the formats say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.formats import RECORDS
from holdfast.formats.compaction import file
from holdfast.formats.compaction.detection import memory, plans
from holdfast.formats.hybrid import file as hybrid_file
from holdfast.formats.hybrid import view
from holdfast.formats.record import completed
from holdfast.formats.wfs import places as wfs_places
from holdfast.workflow import places
from tests.formats.known import KNOWN
from tests.tables import each_row

if TYPE_CHECKING:
    import pytest

ROOT = Path("/home/user/project")


def test_they_are_what_the_formats_and_detection_say() -> None:
    """One truth in two rooms, for the hook path has no time to load them all."""
    compaction = f"{file.FOLDER}/*/state-*.json"
    hybrid = Path(hybrid_file.FILE)
    session = Path(wfs_places.TOP, "WFS-*", wfs_places.SESSION)
    tasks = Path(wfs_places.TOP, "WFS-*", wfs_places.TASKS, "IMPL-*.json")
    beside = [places.extras(ROOT, ROOT / each).relative_to(ROOT) for each in (hybrid, session)]
    files = [hybrid, session, *beside, tasks]
    states = {pattern for name in KNOWN for pattern in RECORDS[name].STATES}
    assert states == {compaction, *(each.as_posix() for each in files)}
    assert states <= set(places.states())
    tops = {name: RECORDS[name].TOP for name in KNOWN}
    assert tops == {"hybrid": hybrid.parent.as_posix(), "compaction": file.FOLDER, "wfs": wfs_places.TOP}
    assert all(pattern.startswith(f"{each.TOP}/") for each in RECORDS.values() for pattern in each.STATES)
    assert RECORDS["hybrid"].VIEWS == (view.FILE,)
    assert paths.plans_dir(ROOT) == ROOT / plans.FOLDER
    assert set(RECORDS["compaction"].SOURCES) == {memory.FILE, f"{plans.FOLDER}/*/{plans.FILE}"}


def test_a_format_can_keep_extras_apart_from_its_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where other programs take every file of the state's folder for a state, extras have a folder of their own."""
    states = ("kept/active/*.json", "kept/extra/*.extra.json")
    record = completed({"NAME": "apart", "ADAPTER": "apart", "TOP": "kept", "PRESENCE": ("kept",), "STATES": states})
    monkeypatch.setitem(RECORDS, "apart", record)

    assert places.extras(ROOT, ROOT / "kept" / "active" / "dev-1.json") == ROOT / "kept" / "extra" / "dev-1.extra.json"
    assert places.extras(ROOT, ROOT / "else" / "dev-1.json") == ROOT / "else" / "dev-1.extra.json"


@each_row(
    "path, state, kept",
    [
        (".claude/state/workflow.json", True, True),
        (".claude/state/workflow.extra.json", True, True),
        ("untracked/workflow-state/release/state-release-20260101_000000.json", True, True),
        ("untracked/workflow-state/release/notes.json", False, False),
        ("untracked/workflow-state/state-release.json", False, False),
        ("untracked/workflow-state/a/b/state-release.json", False, False),
        ("deep/untracked/workflow-state/release/state-release.json", False, False),
        ("deep/.claude/state/workflow.json", False, False),
        ("CLAUDE.local.md", False, True),
        ("deep/CLAUDE.local.md", False, False),
        ("CLAUDE/Plan/7/PLAN.md", False, True),
        ("CLAUDE/Plan/PLAN.md", False, False),
        ("src/app.py", False, False),
        ("", False, False),
        ("../project2/CLAUDE.local.md", False, False),
    ],
)
def test_a_path_is_known(path: str, state: bool, kept: bool) -> None:
    """Part by part, and only below the root."""
    whole = Path("/home/user/project2/CLAUDE.local.md") if path.startswith("..") else ROOT / path
    assert places.is_state(ROOT, whole) is state
    assert places.is_workflow_file(ROOT, whole) is kept
