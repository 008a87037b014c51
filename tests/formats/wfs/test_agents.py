"""What a launch that names several tasks of a `wfs` session is evidence of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.formats.wfs import agents, store, transitions, view
from holdfast.formats.wfs.task import New
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Workspace]:
    """A session of two tasks for two kinds of agents; both can be begun."""
    opened = Workspace.open(tmp_path)
    session = store.create(opened, "User Auth")
    for title, agent in (("Build the login", "@builder"), ("Describe it", "@writer")):
        transitions.add(opened, session, New(title, agent=agent))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("description", "prompt", "meant"),
    [
        ("go on", "Do what is left.", "IMPL-1"),
        ("go on", "Do what is left of IMPL-001.", "IMPL-1"),
        ("go on", "Compare IMPL-1 with IMPL-2.", "IMPL-1"),
        ("go on", "Read the summary of IMPL-2 first.", None),
        ("go on", "First read what came of IMPL-2.", None),
        ("go on", "Section IMPL-2.1.3 of IMPL-2-notes.md says how.", "IMPL-1"),
        ("look at IMPL-2", "IMPL-1 depends on it.", None),
        ("look at IMPL-2", "Build the login", None),
        ("IMPL-2", "Do it.", "IMPL-2"),
        ("Task IMPL-2: Describe it", "Do it.", "IMPL-2"),
    ],
)
def test_a_kind_counts_unless_only_other_tasks_are_named(
    project: Workspace, description: str, prompt: str, meant: str | None
) -> None:
    """R002-17, R002-43: the description's ids go before the prompt's."""
    workflow = view.of_session(project, store.current(project))

    task = agents.match(workflow, f"{description}\n{prompt}", "builder")

    assert (task and task.id) == meant
