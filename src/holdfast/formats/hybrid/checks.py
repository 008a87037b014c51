"""Check the `hybrid` format's files: files of other programs in their place, bad values, an outdated view."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.checks import notice, problem, states
from holdfast.errors import MissingError, StateError
from holdfast.files import access, document
from holdfast.files.lock import locked
from holdfast.formats.hybrid import adapter, view
from holdfast.formats.hybrid import file as hybrid_file
from holdfast.formats.hybrid.foreign import foreign
from holdfast.workflow import places, statefile
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

_NEEDED = {"id": "a text", "task": "a text", "phases": "a list"}  # a hybrid workflow has all of these
_A = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def findings(project: Workspace) -> Iterator[Finding]:
    """Check the state file, its view and the file beside it; nothing is written."""
    theirs = list(foreign(project))
    for each in states.in_the_way(project, theirs):
        own = each.path == hybrid_file.path(project) and not access.remedy(each.path)
        yield _in_the_way(project, each.path) if own else states.misplaced(each)
    found = adapter.find(project).workflows
    yield from states.unsound(found, problem)  # the schema is fixed
    if project.root / view.FILE not in [each.path for each in theirs]:
        yield from _view(project)
    yield from _extra(project, found)


def _in_the_way(project: Workspace, path: Path) -> Finding:
    """Return the finding about a file in the state file's place, without which the format can't be used at all."""
    hindered = "so the hybrid format can't be used here"
    try:
        data = document.load(path, within=project.root).data
    except StateError as error:
        return problem(f"{path}: {error.reason}, {hindered}", states.aside(path))
    faults = _faults(data)
    if not any(key in data for key in _NEEDED):  # another tool's file, which may be there
        back = states.putting_back(project, path, replace=True)
        return notice(f"{path}: {_listed(list(faults.values()))}, {hindered}", back or states.aside(path))
    return problem(f"{path}: {_listed(list(faults.values()))}, {hindered}", f'correct "{next(iter(faults))}" in {path}')


def _faults(data: dict[str, Any]) -> dict[str, str]:
    """Return what is wrong with a file that isn't a hybrid workflow, by field (`hybrid_file.check`)."""
    found = {}
    for key, wanted in _NEEDED.items():
        fits = isinstance(data.get(key), (str, int, float) if key != "phases" else list)
        if key not in data:
            found[key] = f'"{key}" is missing'
        elif not fits:
            found[key] = f'"{key}" is {_A.get(type(data[key]), "a number")} but must be {wanted}'
    if not found:
        names = [f"phases[{number}]" for number in range(len(data["phases"]))]
        found = {name: f'"{name}" has no "title"' for name in names}
    return found


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _view(project: Workspace) -> Iterator[Finding]:
    """Yield a finding if the Markdown view doesn't show the workflow's state."""
    path = project.root / view.FILE
    try:
        file = hybrid_file.load(project)
        present: bytes | None = document.read(path, within=project.root)[0]
    except MissingError as error:
        if error.path != path:
            return
        present = None
    except StateError:
        return  # broken, or another program's: reported above
    if not file.broken and present != view.rendered(file.data):
        what = "is missing" if present is None else "is out of date"
        yield notice(f"{path}, the workflow's view, {what}", "holdfast doctor --fix", partial(_redraw, project))


def _redraw(project: Workspace) -> str:
    path = project.root / view.FILE
    with locked(hybrid_file.path(project).parent):
        data = hybrid_file.load(project).data
        view.write(project, data)
    if document.read(path, within=project.root)[0] != view.rendered(data):
        raise StateError(path, "couldn't be written; holdfast status shows why")
    return f"updated {path} from the workflow's state"


def _extra(project: Workspace, found: Iterable[Workflow]) -> Iterator[Finding]:
    """Yield a finding if the file beside the state file belongs to another workflow."""
    path = places.extras(project.root, hybrid_file.path(project))
    try:
        named = str(statefile.read(project, path).data.get("id", ""))
    except StateError:
        return  # missing, or reported above
    ids = {each.id for each in found}
    if named not in ids:
        present = f"{hybrid_file.FILE} holds {next(iter(ids))}" if ids else f"{hybrid_file.FILE} holds none"
        text = f"{path} belongs to the workflow {quoted(named)}, and {present}, so nothing reads it"
        yield notice(text, states.aside(path))
