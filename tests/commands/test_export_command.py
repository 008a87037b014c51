"""`holdfast export` prints everything known of a project as one document, without secrets unless asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast import log, paths
from holdfast.sessions import contents
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME
from tests.ledgers import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

SECRET = "sk-ant-" + "a1b2c3d4" * 4


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project in which everything is recorded, with a secret in its workflow."""
    made = holdfast_project({})
    paths.ensure_private(paths.config_dir())
    paths.user_config().write_text('[handlers]\non = ["record_events"]\n', "utf-8")
    many = [item for number in range(300) for item in ("--remind", f"Reminder {number}")]
    arguments = ("--phase", "One", "--set", f"api_key={SECRET}", *many)
    holdfast("start", "Release é", *arguments, root=made.root, session=ME)
    made.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    made.fire("PreCompact", "PreCompact-auto", session_id=ME)
    made.fire("SessionStart", "SessionStart-compact", session_id=ME)
    log.set_project(made.root)
    log.write("warning", "something was wrong")
    return made


def test_it_holds_every_row_every_event_every_line_and_every_sidecar(project: HoldfastProject) -> None:
    """Nothing that the ledger has is missing, and contents are as they were kept."""
    whole = holdfast("export", "--verbatim", root=project.root).json

    there = Workspace.open(project.root)
    for name in COLUMNS:
        if name in whole["ledger"]:
            assert len(whole["ledger"][name]) == len(there.ledger.rows(f"SELECT * FROM {name}")), name
    assert set(COLUMNS) == set(whole["ledger"])
    path = next(project.root.glob("untracked/*/*/*.json"))
    assert whole["ledger"]["contents"][-1]["content"].encode() == contents.latest(there, path)
    there.close()
    assert [each["title"] for each in whole["workflows"]] == ["Release é"]
    events = [json.loads(line)["payload"]["hook_event_name"] for line in whole["recordings"][ME]]
    assert events == ["SessionStart", "PreCompact", "SessionStart"]
    assert any("something was wrong" in line for line in whole["log"])
    (sidecar,) = whole["sidecars"].values()
    assert "Reminder 299" in sidecar
    assert (whole["redacted"], whole["project"]["root"]) == (False, str(project.root))


def test_secrets_are_masked_unless_asked(project: HoldfastProject) -> None:
    """In contents, values and wherever else they stand."""
    assert SECRET not in holdfast("export", root=project.root).out
    assert holdfast("export", root=project.root).json["redacted"] is True
    assert SECRET in holdfast("export", "--verbatim", root=project.root).out


def test_a_file_is_readable_by_its_owner_alone(project: HoldfastProject, tmp_path: Path) -> None:
    """Also one that was there before."""
    for target in (tmp_path / "new.json", tmp_path / "old.json"):
        if target.name == "old.json":
            target.write_text("{}")
            target.chmod(0o644)
        said = holdfast("export", str(target), root=project.root)
        assert (said.out, said.err) == ("", f"Wrote {paths.shown(str(target))}. Only you can read it.\n")
        assert target.stat().st_mode & 0o777 == 0o600
        assert json.loads(target.read_bytes())["ledger"]["conversations"][0]["id"] == ME


def test_what_is_no_text_is_written_down_all_the_same(project: HoldfastProject) -> None:
    """As base64."""
    there = Workspace.open(project.root)
    contents.keep(there, there.root / "x.json", b"\xff\x00", why="odd")
    there.close()
    rows = holdfast("export", root=project.root).json["ledger"]["contents"]
    assert {"base64": "/wA="} in [row["content"] for row in rows]


def test_a_project_nothing_is_known_of(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Looking makes no ledger."""
    project = holdfast_project({})
    whole = holdfast("export", root=project.root).json
    assert (whole["ledger"], whole["recordings"], whole["sidecars"]) == ({}, {}, {})
    assert "nothing of that kind" in holdfast("forget", "--everything", "--yes", root=project.root).out
    assert not Workspace.open(project.root).ledger_file.exists()


def test_what_could_not_be_read_is_said(project: HoldfastProject) -> None:
    """In the document and on stderr; the rest is there."""
    [broken] = project.root.rglob("state-*.json")
    broken.write_text("{")
    found = holdfast("export", root=project.root)
    [said] = found.json["unread"]
    assert str(broken.relative_to(project.root)) in said
    assert str(broken.relative_to(project.root)) in found.err
