"""What a session's transcript shows of a skill's workflow: commits, test and lint results, edited files.

Nothing is completed by it. A commit proposes a task's completion, and what was inferred is marked so in the history.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError, TransitionError
from holdfast.files import git
from holdfast.formats.skills import display, featurefile, results, shell, store, testoutput, transitions, view
from holdfast.formats.skills import file as files
from holdfast.workflow import values, wording

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.clients.client import Work
    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records

_TAKEN = "transcript"
"""The name under which is remembered up to when a transcript was looked at."""
_MADE = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,40})\] (.{0,300})$", re.MULTILINE)
_TEST = "test"
_MAX_FILES = 200  # files that are listed as modified
_INFERRED = {"inferred": True}


def take(project: Records, workflow: Workflow, work: Sequence[Work]) -> list[str]:
    """Record what a session did since this was called last; return what its model should hear about it.

    Raises HoldfastError if the state can't be read or written.
    """
    since = _since(project, workflow)
    new = [each for each in work if (at := clock.parse(each.at)) is not None and (since is None or at > since)]
    if new and not workflow.recovered and workflow.status != "blocked":

        def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
            for each in new:
                if files.status(data) == "in_progress":
                    _taken(project, data, rules, each)

        workflow, _ = store.change(project, workflow, edit, why="evidence")
        with suppress(HoldfastError):
            project.remember(workflow.path, _TAKEN, new[-1].at, {})
    return standing(project, workflow)


def standing(project: Records, workflow: Workflow) -> list[str]:
    """Return what is to be said of a state: commits that may complete a task, a RED that never was red, and ticks."""
    seen = view.of(workflow)
    data = seen.data
    said = [display.proposed(data, each) for each in display.proposals(data)]
    if any(each.get("event") == "never_red" for each in results.last_events(data)):
        said.append(f"{wording.capitalized(results.NEVER_RED)}.")
    feature = featurefile.read(project.root, values.text(values.members(data.get("context")).get(files.FEATURE)))
    if feature and (differs := featurefile.difference(feature, view.completed_tasks(data), len(files.tasks(data)))):
        said.append(f"{wording.capitalized(differs)}; neither was changed.")
    return said


def _since(project: Records, workflow: Workflow) -> datetime | None:
    """Return up to when the transcript was looked at: never before the workflow began, nor without a memory its last
    change."""
    began = clock.parse(workflow.created_at)
    try:
        known = project.remembered(workflow.path)
    except HoldfastError:
        return clock.parse(workflow.updated_at)
    last = clock.parse(known["digest"]) if known and known["name"] == _TAKEN else None
    return max((each for each in (began, last) if each is not None), default=None)


def _taken(project: Records, data: dict[str, Any], rules: Machine, work: Work) -> None:
    moment = clock.parse(work.at)
    at = files.stamp(moment)
    if work.path:
        _edited(project.root, data, rules, work)
        return
    for each in shell.called(work.command, failed=work.failed):
        with suppress(TransitionError):  # a checkpoint or part that the workflow hasn't
            if shell.subcommand(each.arguments) == "commit":
                _committed(project.root, data, work, at)
            for name, patterns in rules.commands.items():
                if any(shell.fits(pattern, each.arguments) for pattern in patterns):
                    _ran(data, rules, name, work, each, at)


def _committed(root: Path, data: dict[str, Any], work: Work, at: str) -> None:
    """Note a commit that git knows, once, with the task that is in progress."""
    for short, subject in _MADE.findall(work.output):
        sha = git.recent_commit(root, short)
        number = view.current_task(data)
        known = [values.text(each.get("commit_sha")) for each in files.tasks(data)]
        known += [values.text(each.get("commit")) for each in display.events(data, "commit_seen")]
        if sha and number is not None and not any(each and (sha.startswith(each)) for each in known):
            transitions.note(data, at, "commit_seen", task=number, commit=short, note=subject.strip(), **_INFERRED)


def _ran(data: dict[str, Any], rules: Machine, name: str, work: Work, called: shell.Called, at: str) -> None:
    """Record what came of a command: of tests in `test_state`, and of a checkpoint while its phase is current."""
    said = testoutput.read(work.output) if name == _TEST else None
    passed = said.passed if said and said.passed is not None else called.succeeded
    if passed is None:
        return
    if said is not None:
        _tested(data, rules, " ".join(called.arguments), said, at, passed=passed)
    stage = rules.stage(transitions.current(data))
    if name in stage.requires and name in files.checkpoints(data):
        count = {"count": said.ran} if said and said.ran is not None else {}
        results.checkpoint(data, name, at, passed=passed, more=count, marked=_INFERRED)


def _tested(
    data: dict[str, Any], rules: Machine, command: str, said: testoutput.Output, at: str, *, passed: bool
) -> None:
    """Record a test run; in GREEN, a pass that no failure came before is noted as such."""
    now = transitions.current(data)
    phases = {each.name for each in rules.stages}
    number = view.current_task(data) if now == rules.task_phase else None
    part = now if "red" in phases else view.cycle_part(transitions.task(data, number), rules) if number else ""
    if "test_state" not in data and number is None:
        return
    reason = said.reason or ("" if passed else "the tests failed")
    tests = results.Tests(command=command, reason=reason, failing=said.failing, passing=said.passing)
    noted = any(each.get("event") == "never_red" for each in results.last_events(data))
    if passed and part == "green" and not noted and not results.was_red(data, number):
        transitions.note(data, at, "never_red", note=results.NEVER_RED, **_INFERRED)
    results.run(data, tests, at, task=number, **_INFERRED)
    if part in phases:
        results.write_phase(data, rules, part, tests, at, passing=passed, marked=_INFERRED)


def _edited(root: Path, data: dict[str, Any], rules: Machine, work: Work) -> None:
    """Count the lines that were added to a file of the project in the present phase (R004-22)."""
    listed = data.get("files_modified")
    path = work.path.removeprefix(f"{root}/")
    outside = path.startswith(("/", "../", ".claude/")) or "/../" in path
    if not isinstance(listed, list) or "files_modified" not in rules.fields or outside:
        return
    phase = transitions.current(data)
    entry = next((e for e in listed if isinstance(e, dict) and (e.get("path"), e.get("phase")) == (path, phase)), None)
    if entry is None and len(listed) >= _MAX_FILES:
        return
    if entry is None:
        data["files_modified"] = [*listed, {"path": path, "phase": phase, "lines_added": work.lines_added}]
    else:
        entry["lines_added"] = (values.number(entry.get("lines_added")) or 0) + work.lines_added
