"""The task document: phases and tasks as its headings name them, the bounds that it sets, and where it may lie."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import paths
from holdfast.errors import BrokenError, HoldfastError, MissingError, StateError, TransitionError
from holdfast.files import atomic, document
from holdfast.formats.orchestrator import amounts, schema
from holdfast.workflow import markdown, names, statefile, values
from holdfast.workflow.wording import missing, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.markdown import Line
    from holdfast.workflow.records import Records

FOLDER = ".claude/tasks"
"""The folder of task documents: in your home folder, and in a project for those that Holdfast writes."""

_LIMIT_BYTES = 2 * 1024 * 1024
_SECTION_LIMIT_CHARS = 4_000  # of a task's section that its agent gets
_HEADING_LIMIT_CHARS = 20_000  # characters of a heading that count: a run is called by its title, so it stays whole
_LINE_LIMIT_CHARS = 500  # characters of another line that are looked at
# Of headings without blanks around them. ASCII: other scripts' digits would make two headings one task.
_PHASE = re.compile(r"#{3}\s+Phase\s+(\d{1,6})\s*(?::|-|–|—)\s*(\S.*)", re.IGNORECASE | re.ASCII)
_TASK = re.compile(r"#{4}\s+Task\s+(\d{1,6}\.\d{1,6})\s*(?::|-|–|—)\s*(\S.*)", re.IGNORECASE | re.ASCII)
_TITLE = re.compile(r"#\s+(?:Tasks?:\s*)?(\S.*)", re.ASCII)
_AGENT = re.compile(r"[\s>*_-]*Agent[*_]*\s*:[\s*_]*@?([\w:-]{1,100})[\s*_]*", re.IGNORECASE)
_CRITERIA = re.compile(r"success criteria", re.IGNORECASE)
_BOUNDS = re.compile(r"safety bounds", re.IGNORECASE)
_SETS = re.compile(r"max(?:imum)?[ _-](iterations|cost|time)", re.IGNORECASE)
_BOUND = {
    "max_iterations_per_task": re.compile(
        r"max(?:imum)?[ _-]iterations[^:=\n]{0,40}[:=][\s*_`]*(\d{1,6})", re.IGNORECASE
    ),
    "max_cost": re.compile(r"max(?:imum)?[ _-]cost[^:=\n]{0,40}[:=][\s*_`]*(\$?\s?[\d.,]*\d)", re.IGNORECASE),
    "max_time": re.compile(
        r"max(?:imum)?[ _-]time[^:=\n]{0,40}[:=][\s*_`]*((?:\d+\s*(?:h|min|m|s)\w*\s*)+)", re.IGNORECASE
    ),
}


class OutsideError(StateError):
    """A task document outside the project that isn't read because somebody else may have named it."""


class Task(NamedTuple):
    """A task as the document names it; `agent` is the kind of agent for it, if it names one."""

    id: str
    name: str
    agent: str = ""


class TaskDocument(NamedTuple):
    """What a task document says.

    Attributes:
        title: its first heading; empty without one.
        phases: (number, name) of each phase, in its order.
        tasks: its tasks, in its order.
        bounds: the safety bounds that it sets, by the schema's keys.
        faults: what is wrong with its numbers, each as a sentence.
    """

    title: str
    phases: tuple[tuple[int, str], ...]
    tasks: tuple[Task, ...]
    bounds: dict[str, Any]
    faults: tuple[str, ...] = ()

    def in_phase(self, number: int) -> list[Task]:
        """Return the tasks of a phase, by the number in their ids (I003-1)."""
        return [each for each in self.tasks if schema.phase_of(each.id) == number]


class Section(NamedTuple):
    """What a document says of one task: the text below its heading, and its success criteria."""

    text: str
    criteria: tuple[str, ...]


def path(project: Records, run: Run) -> Path:
    """Return the path of a run's task document; a relative one counts from the project. Raises StateError for none."""
    named = values.text(run.head.get("task_doc"))
    if not named.strip() or "\0" in named:
        raise StateError(schema.state_path(project.root), "names no task document")
    return project.root / named


def of_run(project: Records, run: Run) -> str:
    """Return the text of a run's task document.

    A state in a cloned repository may name any file of yours. So a document outside the project is read only if it lies
    in the folder of your task documents, or if you started a run from it, which kept a version of it.

    Raises OutsideError for another, StateError if it can't be read or the state names none.
    """
    place = path(project, run)
    outside = document.leads_out(place, project.root) and document.leads_out(place, paths.home() / FOLDER)
    if outside and not project.versions(Path(os.path.realpath(place))):
        raise OutsideError(place, "is outside the project, and no run was started from it here")
    return content(place)


def content(path: Path) -> str:
    """Return a task document's text. Raises MissingError, LargeError, BrokenError, StateError."""
    raw, _ = document.read(path, _LIMIT_BYTES)
    if b"\0" in raw:
        raise BrokenError(path, "isn't text: it holds a NUL character")
    return raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def note(run: Run, doc: TaskDocument) -> None:
    """Write into a run's notes what its document says of tasks and phases at the start; later edits change nothing."""
    if doc.title:
        run.notes["title"] = doc.title
    run.notes["document"] = {"tasks": {each.id: each.name for each in doc.tasks}}
    run.notes["phases"] = {str(number): name for number, name in doc.phases}
    for each in doc.tasks:
        if each.agent:
            run.note(each.id)["agent"] = each.agent


def parse(text: str) -> TaskDocument:
    """Return the content of a task document. Headings in fenced code or comments don't count (I003-18)."""
    raw = text.split("\n")
    lines = markdown.lines(text)
    phases, tasks, faults, title, above = dict[int, str](), dict[str, Task](), list[str](), "", 0
    for line in lines:
        if line.kind != "heading":
            if tasks and (agent := _AGENT.fullmatch(line.raw[:_LINE_LIMIT_CHARS])):
                last = next(reversed(tasks))
                tasks[last] = tasks[last]._replace(agent=agent[1])
            continue
        heading = _heading(raw[line.number])
        if phase := _PHASE.fullmatch(heading):
            above = int(phase[1])
            if not above:
                faults.append("phases count from 1, so phase 0 doesn't count")
                continue
            faults += [f"phase {above} is there twice"] if above in phases else []
            phases.setdefault(above, phase[2])
        elif task := _TASK.fullmatch(heading):
            id_ = _plain(task[1])
            if "0" in id_.split("."):
                faults.append(f"phases and tasks count from 1, so task {id_} doesn't count")
                continue
            faults += _misplaced(id_, above, tasks)
            tasks.setdefault(id_, Task(id_, task[2]))
        elif not title and line.depth == 1 and (found := _TITLE.fullmatch(heading)):
            title = found[1]
    named = tuple(sorted(phases.items()))
    bounds, unread = _bounds(lines)
    return TaskDocument(title, named, tuple(tasks.values()), bounds, tuple(dict.fromkeys([*faults, *unread])))


def section(text: str, task: str) -> Section:
    """Return a document's section about a task; empty if it doesn't name the task."""

    def opens(line: str) -> bool:
        found = _TASK.fullmatch(_heading(line))
        return found is not None and _plain(found[1]) == task

    numbers, lines = markdown.section(text, opens, depth=4)
    body = "\n".join(text.split("\n")[numbers.start : numbers.stop]).strip()
    cut = f"{body[:_SECTION_LIMIT_CHARS]}…" if len(body) > _SECTION_LIMIT_CHARS else body
    return Section(cut, tuple(_criteria(lines)))


def find(project: Records, title: str) -> Path:
    """Return the absolute path of the task document that a run's title names (R003-05).

    It counts from the present folder, else from the project. Raises TransitionError if there is no such document.
    """
    name = Path(title.replace("\0", "")).expanduser()
    there = next((each for each in (Path.cwd() / name, project.root / name) if each.is_file()), None)
    if there is None and name.suffix == ".md":
        raise TransitionError(f"there is no {title} in this folder or in the project; correct the path")
    if there is None or there.suffix != ".md":
        raise TransitionError(
            "a run needs tasks: give --phase for each, or the path of a task document, as in "
            "`holdfast start docs/tasks/auth.md --format orchestrator`"
        )
    return there.resolve()


def write(project: Records, title: str, tasks: Sequence[tuple[str, str]]) -> Path:
    """Write a task document with one phase for (name, agent) pairs, and return its path.

    Nothing is overwritten: a document of that name with another content gets a neighbour with a number.
    """
    name = " ".join(title.split())
    text = f"# {name}\n\n### Phase 1: {name}\n"
    for number, (task, agent) in enumerate(tasks, 1):
        text += f"\n#### Task 1.{number}: {' '.join(task.split())}\n" + (f"\nAgent: {agent}\n" if agent else "")
    raw = text.encode("utf-8", "replace")
    for suffix in ("", *(f"-{number}" for number in range(2, 10_000))):
        path = project.root / FOLDER / f"{names.slug(title)}{suffix}.md"
        statefile.guard(project.root, path)
        try:
            if document.read(path)[0] == raw:
                return path
        except MissingError:
            atomic.replace(path, raw, None)
            return path
    raise StateError(path, "and all similar names are taken; move old task documents away")


def ensure_criteria(project: Records, run: Run, task: str, named: Sequence[str]) -> None:
    """Raise HoldfastError for a success criterion that the document doesn't name for a task, if it names some.

    `migration_tested` means "migration tested": case and punctuation don't count. If the document can't be read, any
    name is one.
    """
    try:
        criteria = section(of_run(project, run), task).criteria
    except StateError:
        return
    known = [names.key(each) for each in criteria]
    for each in named if known else ():
        if names.key(each) not in known:
            raise HoldfastError(missing(f"criterion {each!r}", [*map(quoted, criteria)], where=f"task {task} has"))


def _heading(line: str) -> str:
    return line.strip()[:_HEADING_LIMIT_CHARS].rstrip()


def _plain(id_: str) -> str:
    phase, _, number = id_.partition(".")
    return f"{int(phase)}.{int(number)}"


def _misplaced(id_: str, above: int, tasks: dict[str, Task]) -> Iterator[str]:
    if id_ in tasks:
        yield f"task {id_} is there twice; the first one counts"
    elif schema.phase_of(id_) != above:
        yield (f"task {id_} is below phase {above}; its number counts" if above else f"task {id_} isn't below a phase")


def _criteria(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the items below a line that says "Success criteria"; another paragraph ends them."""
    listed = False
    for line in lines:
        if line.kind == "item" and listed:
            yield line.text
        elif line.kind != "blank":
            listed = bool(_CRITERIA.search(line.text[:200]))


def _bounds(lines: Sequence[Line]) -> tuple[dict[str, Any], list[str]]:
    """Return the bounds in the section "Safety Bounds" that can be understood, and a sentence for each other one."""
    at = next((n for n, line in enumerate(lines) if line.kind == "heading" and _BOUNDS.search(line.text)), None)
    if at is None:
        return {}, []
    depth = lines[at].depth
    found, faults = dict[str, Any](), list[str]()
    for line in lines[at + 1 :]:
        if line.kind == "heading" and line.depth <= depth:
            break
        text = line.raw[:_LINE_LIMIT_CHARS]
        for subject in map(str.lower, _SETS.findall(text)):
            name = next(each for each in _BOUND if each.startswith(f"max_{subject}"))
            bound = _BOUND[name].search(text)
            value = _bound(name, bound[1].strip()) if bound else None
            if value is not None:
                found.setdefault(name, value)
            elif name not in found:
                faults.append(f'the bound "{" ".join(text.split())[:80]}" can\'t be understood; the default applies')
    return found, faults


def _bound(name: str, text: str) -> Any:
    if name == "max_iterations_per_task":
        return int(text) or None
    if name == "max_cost":
        return f"${text.removeprefix('$').strip()}" if amounts.money(text) else None
    plain = re.sub(r"(?<=\d)\s*(h|m|s)[a-z]*", r"\1", text.lower()).replace("hours", "h")
    return plain if amounts.seconds(plain) else None
