"""Hand-made workflows for tests, and processes that do one thing at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.clients.claude import claude
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.model import Workflow

HERE = Path(__file__).resolve().parents[1]  # where `tests` is found
ME = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
THIRD = "33333333-3333-4333-8333-333333333333"

# Each process says that it is ready and waits for a line on stdin, so that all of them start the deed together.
_TOGETHER = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.handmade import workspace
project = workspace(Path(sys.argv[1]))
me = sys.argv[2]
{before}
print("ready", flush=True)
sys.stdin.readline()
{deed}
"""


def workspace(root: Path) -> Workspace:
    """Open a project with its client, as the engine and the commands do."""
    return Workspace.open(root, client=claude)


def workflow(root: Path, name: str = "Release", **changes: Any) -> Workflow:
    """Return a workflow of the `compaction` format that nobody wrote to a file.

    Args:
        root: the project's root.
        name: its title; path and id follow from it.
        changes: fields to set.
    """
    slug = name.lower().replace(" ", "-")
    plain = Workflow(
        format="compaction",
        id=slug,
        title=name,
        kind="custom",
        status="active",
        phases=(),
        current=2,
        total=5,
        phase="Build",
        phase_status="active",
        reading=(),
        reminders=(),
        context={},
        created_at="2026-03-01T10:00:00.000000Z",
        updated_at="2026-03-01T11:00:00.000000Z",
        path=root / "untracked" / "workflow-state" / slug / f"state-{slug}.json",
        raw=name.encode(),
        root=root,
    )
    return replace(plain, **changes)


def together(root: Path, names: list[str], deed: str, before: str = "") -> list[str]:
    """Have several processes do the same at the same moment and return what each printed after it.

    Args:
        root: the project that each opens as `project`.
        names: what each calls itself, `me`.
        deed: Python source of what they do at once.
        before: Python source of what each does first.
    """
    script = _TOGETHER.format(before=before, deed=deed)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(root), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        )
        for name in names
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=500)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0] * len(running)
    return said
