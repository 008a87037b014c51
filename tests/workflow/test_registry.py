"""A folder that cannot be looked at is a problem, not an absent workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.workflow import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Found


@pytest.mark.parametrize("look", [registry.all_found, lambda each: registry.candidates(each, "s")])
def test_what_cannot_be_looked_at_is_a_problem_and_not_absent(
    project: Workspace, look: Callable[[Workspace], Found]
) -> None:
    """Else a workflow would be gone without a word."""
    folder = project.root / ".claude"
    folder.symlink_to(folder)

    unread = {each.path.relative_to(folder).as_posix() for each in look(project).problems}

    assert unread == {"state/workflow.json", "agent-state.json", "workflow-state"}
