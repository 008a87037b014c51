"""What each event of a session with a two-phase workflow puts into the model's context, in characters.

`python -m tests.context_costs` prints the table of docs/guides/compaction.md; `--write` writes it there.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.clients.claude import claude
from holdfast.formats import WITH_AGENTS
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from holdfast.testing import HoldfastProject
from holdfast.workflow.wording import units
from tests.commandline import holdfast
from tests.signals import Agent
from tools.survival import samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.testing import Fired

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "compaction.md"
BEGIN, END = "<!-- context: written by python -m tests.context_costs --write -->", "<!-- end of the context -->"
ROOT = "/home/you/project"  # in place of the folder, so that every machine counts the same
COMPACTION, SECOND = "SessionStart (compact)", "SessionStart (compact), second phase"
RESUME, UNREAD = "SessionStart (resume), after a crash", "UserPromptSubmit, reading unread"
RICH = (
    *("--read", "docs/auth.md", "--read", "docs/api.md", "--remind", "Run the tests after each change"),
    *("--remind", "Never store plain passwords", "--set", "ticket=42"),
)
REPORT = "DELIVERABLES:\n- docs/design.md\nCONTEXT_FOR_NEXT: tokens are JWT"
_NOBODY = str(2**22 + 1)  # a process id above every pid_max


def told(project: HoldfastProject, name: str, *, rich: bool) -> dict[str, str]:
    """Play a session, and return what the model was told at each event that can tell it something.

    Args:
        project: an empty project.
        name: the workflow's format.
        rich: whether the workflow has required reading, reminders and a context value.
    """
    return {event: _text(fired).replace(str(project.root), ROOT) for event, fired in _session(project, name, rich)}


def _session(project: HoldfastProject, name: str, rich: bool) -> Iterator[tuple[str, Fired]]:
    project.write({"docs/auth.md": "Tokens.\n", "docs/api.md": "Paths.\n"})
    agent = " @general-purpose" if name in WITH_AGENTS else ""
    yield "SessionStart (startup)", project.fire("SessionStart", "SessionStart-startup-tui")
    given = ("--phase", f"Design{agent}", "--phase", f"Build{agent}", *(RICH if rich else ()))
    holdfast("start", "User auth", "--format", name, *given, root=project.root, session=project.session)
    if not samples.of(name).begins:
        holdfast("next", root=project.root, session=project.session)
    yield "UserPromptSubmit", project.fire("UserPromptSubmit")
    yield "PreCompact", project.fire("PreCompact", "PreCompact-auto")
    yield COMPACTION, project.fire("SessionStart", "SessionStart-compact")
    project.fire("Stop")
    yield UNREAD, project.fire("UserPromptSubmit")
    opened = Workspace.open(project.root, client=claude)
    conversations.note_event(opened, project.session, _NOBODY)
    opened.close()
    yield RESUME, project.fire("SessionStart", "SessionStart-resume")
    work = Agent(project, "Design", "general-purpose", "Design it.")
    yield "PreToolUse (Agent)", work.about_to()
    yield "SubagentStart", work.started()
    work.stopped(REPORT)
    yield "PostToolUse (Agent)", work.returned(REPORT)
    yield "Stop", project.fire("Stop")
    if name not in WITH_AGENTS:
        holdfast("done", "--note", "tokens are JWT", root=project.root, session=project.session)
    project.fire("PreCompact", "PreCompact-auto")
    yield SECOND, project.fire("SessionStart", "SessionStart-compact")


def _text(fired: Fired) -> str:
    assert fired.faults == []
    return fired.context or ("" if fired.stdout.startswith("{") else fired.stdout)


def table(folder: Path) -> str:
    """Return the table of all formats with a sample; their projects are made in `folder`."""
    counted: dict[str, list[dict[str, int]]] = {}
    for name in samples.FORMATS:
        for rich in (False, True):
            project = HoldfastProject(folder / f"{name}-{rich}")
            (project.root / ".claude").mkdir(parents=True)
            costs = {event: units(text) for event, text in told(project, name, rich=rich).items()}
            counted.setdefault(name, []).append(costs)
    lines = [f"| event | {' | '.join(counted)} |", "|---" * (1 + len(counted)) + "|"]
    for event in next(iter(counted.values()))[0]:
        cells = [_numbers(plain[event], rich[event]) for plain, rich in counted.values()]
        lines.append(f"| {event} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _numbers(plain: int, rich: int) -> str:
    """Return the costs of both workflows, as one number if they agree."""
    return f"{plain:,}" if plain == rich else f"{plain:,} / {rich:,}"


def written(page: str, counted: str) -> str:
    """Return the page with the table in it."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"the page lacks {BEGIN!r} or {END!r}"
    return f"{before}{BEGIN}\n{counted}\n{END}{after}"


def main(arguments: list[str]) -> None:
    """Print the table, or write it into the page."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        home = Path(folder).resolve() / "home"
        given = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
        os.environ.update(given | {"HOME": str(home), "HOLDFAST_SERVER": "off"})
        counted = table(home.parent)
    if arguments == ["--write"]:
        PAGE.write_text(written(PAGE.read_text("utf-8"), counted), "utf-8")
    else:
        print(counted)


if __name__ == "__main__":
    main(sys.argv[1:])
