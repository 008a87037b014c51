"""Which script a call of the Workflow tool asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.clients.claude.workflow_runs import WorkflowRuns

if TYPE_CHECKING:
    from pathlib import Path

SIX = "export const meta = {name: 'six', description: 'x'}\nreturn 6\n"


def test_a_script_is_found_by_its_path_its_text_or_its_name(tmp_path: Path) -> None:
    """In the order of the client. A name can't lead out of the folder of workflows."""
    folder = tmp_path / ".claude" / "workflows"
    folder.mkdir(parents=True)
    (folder / "six.js").write_text(SIX, "utf-8")
    (tmp_path / ".claude" / "secret.js").write_text("secret", "utf-8")
    path = ".claude/workflows/six.js"
    cases: list[tuple[dict[str, str], str | None]] = [
        ({"script": "text"}, "text"),
        ({"scriptPath": path}, SIX),
        ({"name": "six"}, SIX),
        ({"scriptPath": path, "script": "text", "name": "none"}, SIX),
        ({"script": "text", "name": "six"}, "text"),
        ({"name": "../secret"}, None),
        ({}, None),
    ]
    assert [(given, WorkflowRuns().script("", given, tmp_path)) for given, _ in cases] == cases
    assert WorkflowRuns().script_name(SIX) == "six"
    assert WorkflowRuns().script_name("return 1") == ""
