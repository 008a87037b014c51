"""Secrets in the fields that only this format has are readable in nothing that Holdfast keeps or prints."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import log
from holdfast.formats.skills import paths
from holdfast.sessions.workspace import Workspace
from tests import planted
from tests.commandline import holdfast
from tests.handmade import ME

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject


@pytest.mark.slow
def test_no_secret_in_a_state_or_in_the_index_is_readable(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Neither in names and notes, nor in what `doctor` says of a broken file and of a wrong index."""
    made = holdfast_project({})
    texts = itertools.cycle(each.text for each in planted.PLANTED if "\0" not in each.text)
    log.set_level("debug")

    def skills(*arguments: str, code: int = 0) -> None:
        holdfast("skills", *arguments, root=made.root, session=ME, code=code)

    skills("start", "dev", next(texts), "--phase", next(texts), "--phase", next(texts))
    skills("phase", "create_branch")
    skills("task", "1", "--start")
    skills("tdd", "red", "--test-name", next(texts), "--reason", next(texts))
    holdfast("update", "--status", "blocked", "--error", next(texts), root=made.root, session=ME)
    holdfast("update", "--status", "active", root=made.root, session=ME)
    project = Workspace.open(made.root)
    (state,) = paths.active(project.root).glob("*.json")
    data = json.loads(state.read_bytes())
    data["context"] = _filled(data["context"], texts)
    data["checkpoints"] = _filled(data["checkpoints"], texts)
    data["workflow"]["branch"] = next(texts)
    data["history"].append({"at": next(texts), "event": next(texts), "note": next(texts)})
    for phase in data["state_machine"]["phases"]:
        phase |= {"agent": next(texts), "note": next(texts), "steps": [next(texts)]}
    state.write_text(json.dumps(data))
    listed = json.loads(paths.index(project.root).read_bytes())
    listed["active_workflows"] += [{"id": next(texts), "skill": next(texts), "feature": next(texts)} for _ in range(9)]
    paths.index(project.root).write_text(json.dumps(listed))
    (paths.active(project.root) / "dev-99999999.json").write_text(json.dumps({next(texts): next(texts)})[:-1])
    project.close()
    made.fire("PreCompact", "PreCompact-auto", session_id=ME)
    made.fire("SessionStart", "SessionStart-compact", session_id=ME)
    made.fire("UserPromptSubmit", prompt=f"/dev {' '.join(next(texts).split())}", session_id=ME)
    skills("phase", next(texts), code=1)

    planted.assert_none_is_kept(made.root)
    planted.assert_none_is_printed(made.root)


def _filled(given: dict[str, Any], texts: itertools.cycle[str]) -> dict[str, Any]:
    filled = {key: _filled(each, texts) if isinstance(each, dict) else next(texts) for key, each in given.items()}
    return filled | {next(texts)[:60]: next(texts)}
