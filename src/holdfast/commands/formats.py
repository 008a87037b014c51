"""`holdfast formats`: list, check, write and trust formats without code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from holdfast import formats
from holdfast.commands import options, terminal
from holdfast.commands.verb import InProject, Json, ListGroup, Yes, verb
from holdfast.errors import HoldfastError, command_line
from holdfast.files import atomic, trust
from holdfast.formats.described import catalog, view
from holdfast.formats.described.description import NAME
from holdfast.formats.described.format import DescribedFormat
from holdfast.process.terminal_text import printable
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, registry, statefile, wording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.formats.described.description import Description
    from holdfast.workflow.definitions import Listed

_ROW_LIMIT_CHARS = 8_000
_NEW = Path(catalog.__file__).with_name("new_format.toml")
"""What `holdfast formats new` writes; `{name}` stands for the name."""


@click.group(name="formats", cls=ListGroup)
def command() -> None:
    """List the formats that workflows can be stored in, and describe your own without code.

    \b
    Examples:
      holdfast formats
      holdfast formats new checklist
      holdfast formats check checklist
    """


@verb("list", command)
def list_(project: Workspace, *, as_json: Json = False) -> None:
    """List formats, those without code, and machines of skills.

    What isn't used has the reason. A project's own ones count once you trusted them.

    \b
    Examples:
      holdfast formats list
      holdfast formats list --json
    """
    rows = [*_known(), *map(_row, catalog.listed(project.root)), *_definitions(project)]
    if as_json:
        options.print_json(rows)
        return
    for row in rows:
        unused = "" if row["used"] else f"not used: {row['reason'].removeprefix(row['from'] + ': ')}  "
        row["line"] = wording.one_line(f"{unused}{', '.join(row['files'])}  ({row['from']})", _ROW_LIMIT_CHARS)
    cells = ((wording.one_line(row["name"]), row["line"]) for row in rows)
    terminal.put_wrapped(terminal.console(), terminal.table(cells))


@verb("check", command)
def check(project: Workspace, *names: Annotated[str, {"metavar": "[NAME]..."}], as_json: Json = False) -> None:
    """Check your formats and machines.

    It names the files that formats describe. Without NAME, it checks all. The exit code is 1 if one can't be used.

    \b
    Examples:
      holdfast formats check
      holdfast formats check checklist
      holdfast formats check machines/release
    """
    described = [_checked(project, each) for each in catalog.listed(project.root) if not names or each.name in names]
    machines = [each for each in _definitions(project, of_people=True) if not names or each["name"] in names]
    checked = [*described, *machines]
    if missing := [name for name in names if name not in {each["name"] for each in checked}]:
        raise HoldfastError(f"there is no format without code {missing[0]!r}; `holdfast formats list` lists them")
    if as_json:
        options.print_json(checked)
    else:
        lines = [line for each in described for line in _lines(each)]
        lines += [f"{each['name']}: {'can be used' if each['used'] else each['reason']}" for each in machines]
        options.say("\n".join(lines) or "No format without code.")
    if any(not each["used"] for each in checked):
        sys.exit(1)


@verb("new", command)
def new(project: Workspace, name: str, *, in_project: InProject = False) -> None:
    """Write the description of a format.

    The file is NAME.toml in your formats folder, with everything that a description can say.

    \b
    Examples:
      holdfast formats new checklist
      holdfast formats new checklist --in-project
    """
    if not NAME.fullmatch(name):
        raise click.BadParameter(f"{name!r}: use small letters, digits, - and _, 40 at most", param_hint="NAME")
    folders = definitions.user_folder(catalog.KIND), definitions.project_folder(project.root, catalog.KIND)
    taken = {*formats.RECORDS, *catalog.reserved_names(), *(each.name for each in catalog.listed(project.root))}
    if name in taken:
        raise HoldfastError(f"there is a format or command {name!r} already; choose another name")
    path = folders[in_project] / f"{name}.toml"
    raw = _NEW.read_text("utf-8").format(name=name).encode()
    if in_project:
        statefile.guard(project.root, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.replace(path, raw, None)
    if in_project:
        trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(raw)}, [raw])
    options.say_short(f"Wrote {path}.")
    click.echo(f"Next: edit it, then see what it means: {command_line('formats', 'check', name)}")
    if in_project:
        options.say(f"Trust it again after each edit: {command_line('formats', 'trust', name)}")


@verb("trust", command)
def trust_(project: Workspace, name: str, *, yes: Yes = False, as_json: Json = False) -> None:
    """Trust a format of the project, or a machine.

    Trust holds for exactly the content that the file has now. It is for people, not for Claude.

    \b
    Examples:
      holdfast formats trust checklist
      holdfast formats trust machines/release
    """
    kind, slash, last = name.partition("/")
    kind, name = (kind, last) if slash and kind in formats.definition_kinds() else (formats.DESCRIPTIONS, name)
    folder = definitions.project_folder(project.root, kind)
    path = folder / f"{name}.toml"
    if path.parent != folder or not path.is_file():
        raise HoldfastError(f"{project.root} has no {kind.removesuffix('s')} {name!r}; it would be {path}")
    raw = definitions.content(project.root, path)
    for line in raw.decode(errors="backslashreplace").splitlines():
        click.echo(printable(line), err=as_json)  # click would remove control characters; here you must see them
    options.confirm(f"Trust {path}?", yes=yes, on_stderr=as_json)
    trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(raw)}, [raw])
    if as_json:
        options.print_json({"name": name, "path": str(path), "trusted": True})
    else:
        options.say(f"Trusted: {path}. If its content changes, trust it again.")


def _known() -> Iterator[dict[str, Any]]:
    for name, record in formats.RECORDS.items():
        if name not in formats.DESCRIBED:
            source = "Holdfast" if name in formats.OURS else formats.package(name)
            yield {"name": name, "used": True, "reason": "", "from": source, "files": list(record.STATES)}


def _definitions(project: Workspace, *, of_people: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the definitions that the workflows of formats follow, such as machines of skills: all, or people's own."""
    for library in registry.libraries():
        for each in library.of_people(project.root) if of_people else library.listed(project.root):
            name, used = f"{library.kind}/{each.name}", each.value is not None
            yield {"name": name, "used": used, "reason": each.reason, "from": str(each.path), "files": []}


def _row(each: Listed[Description]) -> dict[str, Any]:
    """Return a described format as a row."""
    rules = each.value
    files = list(rules.files) if rules else []
    return {"name": each.name, "used": rules is not None, "reason": each.reason, "from": str(each.path), "files": files}


def _checked(project: Workspace, each: Listed[Description]) -> dict[str, Any]:
    """Return a described format as a row, with what it makes of the project's files."""
    row = _row(each) | {"agents": False, "keeps": [], "workflows": [], "left": []}
    if each.value is None:
        return row
    rules = each.value
    form = DescribedFormat(rules)
    found = form.find(project)
    known = {str(one.path) for one in found.workflows}
    troubled = {str(one.path): one.reason for one in found.problems}
    left = [{"path": path, "reason": reason} for path, reason in troubled.items()]
    nothing = f"nothing at {rules.units.path} has a title or a known status"
    others = (path for path in form.files(project) if path.is_file())
    left += [{"path": str(path), "reason": nothing} for path in others if str(path) not in known | troubled.keys()]
    taken = "another format keeps it, or no description may name it"
    theirs = (path for path in form.files(project, theirs=True) if path.is_file())
    left += [{"path": str(path), "reason": taken} for path in theirs]
    keeps = [
        *(name for name in view.KEPT if getattr(rules.workflow, name)),
        *(name for name in ("agent", "note") if getattr(rules.units, name)),
    ]
    workflows = [
        {"path": one.place, "title": one.title, "position": one.position, "warnings": list(one.warnings)}
        for one in found.workflows
    ]
    return row | {"agents": rules.agents, "keeps": keeps, "workflows": workflows, "left": left}


def _lines(row: dict[str, Any]) -> Iterator[str]:
    if not row["used"]:
        yield f"{row['name']}: not used: {row['reason']}"
        return
    moved = "agents move it" if row["agents"] else "no agent moves it (no words for active and for failed or blocked)"
    yield f"{row['name']}: {', '.join(row['files'])}; {moved}; keeps {', '.join(row['keeps']) or 'nothing else'}"
    for each in row["workflows"]:
        yield f"  {each['path']}: {wording.quoted(each['title'])} at {each['position']}"
        yield from (f"    warning: {warning}" for warning in each["warnings"])
    yield from (f"  {each['path']}: {each['reason']}" for each in row["left"])
    if not row["workflows"] and not row["left"]:
        yield "  no such file in this project yet"
