"""Formats without code: what a description may say, who trusts it, and which files it may never reach."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import formats
from holdfast.errors import ConfigError, HoldfastError, SchemaMismatch, StateError, TransitionError
from holdfast.files import tomlfile, trust
from holdfast.formats import RECORDS
from holdfast.formats.described import catalog, description, view
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, registry, verbs
from holdfast.workflow.model import Changes, Start
from tests import described
from tests.commandline import holdfast
from tests.doctoring import examine
from tests.planted import PLANTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from holdfast.workflow.model import Workflow

TITLE = "Release 1.2"
MINE = """
files = ["work/*.json"]
[workflow]
title = "name"
[units]
path = "tasks[*]"
title = "text"
status = "state"
[statuses]
pending = ["todo"]
active = ["doing"]
completed = ["done"]
"""
BY_HAND = """{
    "project": "Release 1.2",   "budget": 1.50,
    "read_first": ["docs/plan.md"],
    "phases": [
        {"name": "Prepare", "steps": [
            {"name": "Write", "status": "Done", "estimate": 3},
            {"name": "Tag",   "status": "in-progress"}
        ]},
        {"name": "Publish", "gate": {"by": null}, "steps": [{"name": "Announce", "status": "todo"}]}
    ]
}
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test describes is unknown after it."""
    yield
    described.forget()


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a progress file that people wrote, and the format that a user described."""
    described.lay("progress")
    return holdfast_project({"docs/plan.md": "A plan.\n", "docs/progress.json": BY_HAND})


def theirs(root: Path, name: str, text: str = MINE) -> Path:
    path = definitions.project_folder(root, "formats") / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def users(name: str, text: str = MINE) -> Path:
    path = definitions.user_folder("formats") / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def parse(text: str) -> description.Description:
    import tomllib

    return description.parse("mine", tomllib.loads(text), "mine.toml")


def only(root: Path) -> Workflow:
    (found,) = registry.all_found(Workspace.open(root)).workflows
    return found


def compact(project: HoldfastProject) -> str:
    for event, recorded in (("PreCompact", "PreCompact-auto"), ("SubagentStop", "SubagentStop-compaction")):
        assert project.fire(event, recorded).faults == []
    return project.fire("SessionStart", "SessionStart-compact").context


def test_an_id_with_a_secret_in_it_is_none() -> None:
    """Ids are remembered as they are, so the unit is called by its place; its file keeps what it says."""
    rules = parse(MINE.replace('title = "text"', 'title = "text"\nid = "key"'))
    data = {"tasks": [{"key": "first", "state": "todo"}, {"key": PLANTED[0].text, "state": "todo"}]}

    assert [each.phase.id for each in view.units(rules, data, [])] == ["first", "step_2"]


def test_a_projects_format_counts_once_trusted_as_it_is(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Until then, and after each change, it is named with the command; `handlers untrust` ends it."""
    state = json.dumps({"name": TITLE, "tasks": [{"text": "Write", "state": "doing"}]})
    project = holdfast_project({"work/a.json": state})
    path = theirs(project.root, "mine")

    def used() -> bool:
        rows = holdfast("formats", "list", "--json", root=project.root).json
        return [each["used"] for each in rows if each["name"] == "mine"] == [True]

    assert TITLE not in holdfast("status", root=project.root).out
    said = holdfast("formats", "list", root=project.root).out
    assert "mine.toml is not trusted; read it, then run `holdfast formats trust mine`" in said
    assert "holdfast formats trust mine" in holdfast("formats", "check", root=project.root, code=1).out
    (notice,) = [each for each in examine("packages", project.root) if each.level == "notice"]
    assert notice.remedy.endswith("holdfast formats trust mine")
    assert not used()

    assert "no terminal" in holdfast("formats", "trust", "mine", root=project.root, code=1).err
    trusted = {"name": "mine", "path": str(path), "trusted": True}
    assert holdfast("formats", "trust", "mine", "--yes", "--json", root=project.root).json == trusted
    assert MINE.strip() in holdfast("formats", "trust", "mine", "--yes", root=project.root).out
    assert TITLE in holdfast("status", root=project.root).out
    assert used()

    path.write_text(MINE.replace("work/", "docs/"))
    assert not used()
    path.write_text(MINE)
    assert used()
    holdfast("handlers", "untrust", str(path), root=project.root)
    assert not used()


def test_a_projects_file_never_replaces_anothers(tmp_path: Path) -> None:
    """Neither the user's, nor one of Holdfast's, nor a command's, however trusted it is."""
    for name in ("mine", "hybrid", "status", "theirs"):
        path = theirs(tmp_path, name, MINE.replace("work/", "theirs/"))
        trust.grant(tmp_path, {trust.relative_name(tmp_path, path): trust.digest(path.read_bytes())})
    users("mine")
    users("compaction")
    Workspace.open(tmp_path).close()

    assert set(formats.DESCRIBED) == {"mine", "theirs"}
    assert RECORDS["mine"].STATES == ("work/*.json",)
    assert RECORDS["hybrid"].STATES[0] == ".claude/state/workflow.json"
    reasons = {each.name: each.reason for each in catalog.listed(tmp_path) if each.value is None}
    assert "another one of this name comes first" in reasons["mine"]
    assert all("already" in reasons[name] for name in ("hybrid", "status", "compaction"))


PLACES = [
    "../x.json", "/etc/x.json", "~/x.json", "a/../x.json", "a//x.json", "./x.json", "x.toml", "**/x.json", "a?.json",
    ".git/x.json", ".mcp.json", "a/.x.json", ".claude/settings.json", ".claude/settings.local.json",
    ".claude/Settings.json", ".claude/*.json", ".claude/hooks/x.json", ".claude/formats/x.json", "node_modules/x.json",
    "a\\b.json", "a\n.json",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_no_file_may_lie_outside_or_where_others_keep_theirs(place: str) -> None:
    """The description is refused, with its file, the key and the place."""
    with pytest.raises(ConfigError, match=r"mine.toml: files.0.: "):
        parse(MINE.replace('"work/*.json"', json.dumps(place)))


def test_a_wildcard_reaches_no_hidden_file_and_none_of_another_format(tmp_path: Path) -> None:
    """They are neither read nor written, though the pattern fits."""
    users("mine", MINE.replace('"work/*.json"', '"*.json", ".claude/state/*.json", "untracked/*/*/*.json"'))
    project = Workspace.open(tmp_path)
    theirs_ = json.dumps({"name": "x", "tasks": [{"text": "y", "state": "todo"}]})
    for name in (".mcp.json", ".claude/state/workflow.json", "untracked/workflow-state/a/state-a.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(theirs_)
    (tmp_path / "good.json").write_text(theirs_)
    adapter = registry.get("mine")

    (found,) = adapter.find(project).workflows
    assert found.place == "good.json"
    (row,) = holdfast("formats", "check", "--json", root=tmp_path).json
    assert {each["reason"] for each in row["left"]} == {"another format keeps it, or no description may name it"}
    assert len(row["left"]) == 3
    from dataclasses import replace

    for name in (".mcp.json", ".claude/state/workflow.json"):
        with pytest.raises(StateError, match="no place for a file of mine"):
            verbs.done(project, replace(found, path=tmp_path / name))
        with pytest.raises(StateError, match="no place for a file of mine"):
            adapter.restore(project, tmp_path / name, theirs_.encode(), why="log restore", replace=True)
        assert (tmp_path / name).read_text() == theirs_


def test_a_start_writes_over_no_file_of_somebody_else(tmp_path: Path) -> None:
    """Beside it where names are free, else not at all."""
    users("mine")
    users("fixed", MINE.replace("work/*.json", "work/release-1-2.json"))
    (tmp_path / "work").mkdir()
    foreign = tmp_path / "work" / "release-1-2.json"
    foreign.write_text('{"name": "x", "version": "1.0", "tasks": ["build"]}')
    project = Workspace.open(tmp_path)
    start = Start(TITLE, phases=(("Write", ""),))

    assert registry.get("mine").start(project, start).place == "work/release-1-2-2.json"
    foreign.rename(tmp_path / "work" / "kept.txt")
    foreign.write_text('{"name": "x", "version": "1.0", "tasks": ["build"]}')
    RECORDS.pop("mine")
    formats.DESCRIBED.pop("mine")
    with pytest.raises(SchemaMismatch):
        registry.get("fixed").start(project, start)
    assert json.loads(foreign.read_text())["version"] == "1.0"


def test_a_finished_workflow_without_an_id_is_not_written_over(tmp_path: Path) -> None:
    """Who reads the ledger could not tell the two apart; the message says which field would."""
    users("fixed", MINE.replace("work/*.json", "work.json"))
    project = Workspace.open(tmp_path)
    adapter = registry.get("fixed")
    start = Start(TITLE, phases=(("Write", ""),))
    before = verbs.done(project, verbs.begin(project, adapter.start(project, start)))

    with pytest.raises(TransitionError, match=r"workflow\.id"):
        adapter.start(project, start)

    assert (tmp_path / "work.json").read_bytes() == before.raw


def test_links_lead_nowhere(tmp_path: Path) -> None:
    """Neither a folder nor a description that is a link out of the project is followed."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "work").symlink_to(outside)
    users("mine")
    project = Workspace.open(root)

    with pytest.raises(StateError):
        registry.get("mine").start(project, Start(TITLE, phases=(("Write", ""),)))
    assert list(outside.iterdir()) == []

    (outside / "linked.toml").write_text(MINE)
    folder = definitions.project_folder(root, "formats")
    folder.mkdir(parents=True)
    (folder / "linked.toml").symlink_to(outside / "linked.toml")
    (listed,) = [each for each in catalog.listed(root) if each.name == "linked"]
    assert (listed.value, "symbolic link" in listed.reason) == (None, True)
    assert "symbolic link" in holdfast("formats", "trust", "linked", "--yes", root=root, code=1).err


@pytest.mark.parametrize("kind", ["formats", "machines"])
def test_a_description_is_read_up_to_its_limit(tmp_path: Path, kind: str) -> None:
    """64 KB, as every TOML file that a stranger may have written."""
    text = MINE if kind == "formats" else '[[phases]]\nname = "one"\n'
    path = users("mine", f"{text}\n#{'x' * tomlfile.LIMIT_BYTES}")
    if kind == "machines":
        folder = definitions.user_folder("machines")
        folder.mkdir(parents=True)
        path = path.rename(folder / "mine.toml")
    from holdfast.formats.skills.machine import MACHINES

    found = (catalog.FORMATS if kind == "formats" else MACHINES).listed(tmp_path)

    assert [(each.value, "larger" in each.reason) for each in found if each.path == path] == [(None, True)]


WRONG = {
    'color = "red"\n' + MINE: "color isn't a key of a format",
    MINE.replace('title = "name"', 'titel = "name"'): "workflow.titel isn't a key",
    MINE.replace('path = "tasks[*]"\n', ""): "units.path is missing",
    MINE.replace("tasks[*]", "tasks"): "units.path: write how to get",
    MINE.replace("tasks[*]", "*.tasks"): "must begin with a key",
    MINE.replace("tasks[*]", "tasks[*].inner"): "end with",
    MINE.replace("tasks[*]", "tasks[0]"): "isn't a path",
    MINE.replace('status = "state"', 'status = "state[*]"'): "leads to several fields",
    MINE.replace('status = "state"\n', ""): "units.status is missing",
    MINE.replace('status = "state"', "status = 3"): "units.status is not a text",
    MINE.replace('completed = ["done"]\n', ""): "statuses.completed is missing",
    MINE.replace('["doing"]', '["DONE"]'): "means two things",
    MINE.replace('["doing"]', "[1.5]"): "statuses.active[0]",
    MINE.replace('["doing"]', '["x"]\npaused = ["y"]'): "statuses.paused isn't a key",
    MINE.replace('files = ["work/*.json"]', "files = 3"): "files[0] is not a text",
    MINE.replace('files = ["work/*.json"]', "files = []"): "files must be a path",
    MINE.replace("work/*.json", "work/*/x.json"): "wildcard in its folder",
    MINE.replace("[units]", '[units]\nword = "Task!"'): "units.word",
    MINE.split("[statuses]")[0]: "statuses is missing",
    MINE.replace("tasks[*]", "a.b.c.d.e.f.g.h.i[*]"): "more than 8 parts",
}


@pytest.mark.parametrize("text", WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_a_description_that_makes_no_sense_is_refused_with_the_key(text: str) -> None:
    """And with its file, so that whoever wrote it finds the place."""
    with pytest.raises(ConfigError) as refused:
        parse(text)

    assert str(refused.value).startswith("mine.toml: ")
    assert WRONG[text] in str(refused.value)


def test_a_broken_description_costs_only_itself(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Events and commands go on; `check` and `doctor` name file and fault."""
    users("mine", "files = [")
    project = holdfast_project({})
    holdfast("start", "Other", "--phase", "First", root=project.root, session=project.session)

    assert "Other" in compact(project)
    assert "is not TOML" in holdfast("formats", "check", root=project.root, code=1).out
    (found,) = [each for each in examine("packages", project.root) if each.level == "problem"]
    assert "is not TOML" in found.text


def test_the_template_of_new_is_a_whole_description(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """What it writes is usable as it is; with `--in-project` it is trusted."""
    project = holdfast_project({})
    holdfast("formats", "new", "mine", root=project.root)
    said = holdfast("formats", "new", "ours", "--in-project", root=project.root)
    assert ".claude/formats/ours.toml" in said.out

    assert "mine: mine/*.json; agents move it" in holdfast("formats", "check", root=project.root).out
    holdfast("start", TITLE, "--format", "OURS", "--phase", "One", root=project.root)
    assert only(project.root).place == "ours/release-1-2.json"
    checked = holdfast("formats", "check", "ours", root=project.root).out
    assert f'  ours/release-1-2.json: "{TITLE}" at 0/1\n' in checked
    for name in ("mine", "hybrid", "start", "ours"):
        assert "already" in holdfast("formats", "new", name, root=project.root, code=1).err
    assert "small letters" in holdfast("formats", "new", "../x", root=project.root, code=2).err
    assert "is not one of" in holdfast("start", "x", "--format", "none", "--phase", "y", root=project.root, code=2).err


def test_a_start_in_a_format_that_is_not_used_says_why(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """It names the file, and the command that trusts it or its fault."""
    root = holdfast_project({}).root
    path = theirs(root, "mine")
    start = ("start", "x", "--format", "mine", "--phase", "y")

    said = holdfast(*start, root=root, code=2).err
    assert "mine.toml is not trusted" in said and "`holdfast formats trust mine`" in said
    path.write_text("nonsense = 1\n")
    holdfast("formats", "trust", "mine", "--yes", root=root)
    assert "mine.toml: files is missing" in holdfast(*start, root=root, code=2).err


def test_a_machine_with_a_mistake_is_reported(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """By `doctor` and by `formats check`, with its file and its fault; untrusted ones with the command."""
    root = holdfast_project({".claude/machines/rel.toml": "nonsense = 1\n"}).root
    assert "trust machines/rel" in holdfast("formats", "check", "machines/rel", root=root, code=1).out
    holdfast("formats", "trust", "machines/rel", "--yes", root=root)

    assert "rel.toml: phases is missing" in holdfast("formats", "check", root=root, code=1).out
    (row,) = holdfast("formats", "check", "machines/rel", "--json", root=root, code=1).json
    assert not row["used"]
    (found,) = [each for each in examine("packages", root) if each.level == "problem"]
    assert "rel.toml: phases is missing" in found.text


def test_check_says_what_it_makes_of_the_files(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Which are workflows, what is odd in them, and which are something else."""
    users("mine")
    odd = {"name": TITLE, "tasks": [{"text": "Write", "state": "doing"}, {"text": "Tag", "state": "perhaps"}]}
    project = holdfast_project({"work/a.json": json.dumps(odd), "work/b.json": "{}", "work/c.json": "{"})

    (row,) = holdfast("formats", "check", "--json", root=project.root).json

    assert row["workflows"][0]["warnings"] == ["\"tasks[1].state\" is 'perhaps', for which there is no status"]
    assert {each["path"].rpartition("/")[2] for each in row["left"]} == {"b.json", "c.json"}
    assert "there is no format without code" in holdfast("formats", "check", "x", root=project.root, code=1).err


@pytest.fixture
def checklist(tmp_path: Path) -> Workspace:
    """A project whose checklists are ticked off with true."""
    described.lay("checklist")
    opened = Workspace.open(tmp_path)
    registry.get("checklist").start(opened, Start(TITLE, phases=(("Write", ""), ("Tag", ""))))
    return opened


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reading": ("a.md",)}, r"keeps no required reading; workflow\.reading in"),
        ({"context": {"a": 1}}, "keeps no context"),
        ({"handover": "x"}, r"keeps no notes; units\.note in"),
        ({"status": "failed"}, "no word for failed; it has words for pending, completed"),
        ({"current": 2}, "the first task that is left"),
        ({"current": 3}, "there is no task 3"),
        ({"total": 3}, "lists 2 tasks"),
        ({"deliverables": ("x",)}, "keeps deliverables"),
        ({"error": "x"}, "add --status blocked or failed"),
    ],
)
def test_what_a_file_has_no_field_for_is_refused(checklist: Workspace, change: dict[str, Any], said: str) -> None:
    """Nothing is lost without a word; the file stays as it is."""
    (seen,) = registry.get("checklist").find(checklist).workflows
    with pytest.raises(HoldfastError, match=said):
        verbs.update(checklist, seen, Changes(**change))
    assert seen.path.read_bytes() == seen.raw


@pytest.mark.parametrize("more", [{"kind": "x"}, {"total": 3}, {"phases": (("A", "me"),)}, {"phases": ((" ", ""),)}])
def test_a_start_that_asks_for_too_much_is_refused(checklist: Workspace, more: dict[str, Any]) -> None:
    """Also for an agent that the file has no field for."""
    with pytest.raises(TransitionError):
        verbs.start(checklist, "checklist", Start("Other", **{"phases": (("A", ""),), **more}))


def test_true_and_one_are_different_words(tmp_path: Path) -> None:
    """As they are in JSON; spelling makes no difference to a text."""
    rules = parse(MINE.replace('["todo"]', "[false, 0]").replace('["done"]', '[true, "All Done"]'))

    assert [description.meaning(rules, each) for each in (True, False, 0, None, "all_done", "ALL-DONE", 1)] == [
        *("completed", "pending", "pending", "pending", "completed", "completed", None)
    ]


def test_units_of_an_object_are_named_by_their_path(tmp_path: Path) -> None:
    """`tasks.*` leads to each member; what is started has such members too."""
    users("mine", MINE.replace("tasks[*]", "plan.tasks.*"))
    project = Workspace.open(tmp_path)
    adapter = registry.get("mine")

    made = verbs.begin(project, adapter.start(project, Start(TITLE, phases=(("Write", ""), ("Tag", "")))))

    assert json.loads(made.raw)["plan"]["tasks"] == {
        "1": {"text": "Write", "state": "doing"},
        "2": {"text": "Tag", "state": "todo"},
    }


def test_two_units_with_one_id_are_told_apart(project: HoldfastProject) -> None:
    """The second gets one of its own, with a warning; both are moved."""
    twice = BY_HAND.replace('"name": "Write"', '"key": "a", "name": "Write"').replace('"Tag"', '"Tag", "key": "a"')
    (project.root / "docs/progress.json").write_text(twice)
    found = only(project.root)
    assert [each.id for each in found.phases] == ["a", "step_2", "step_3"]
    assert found.warnings == ('"key" is "a" in two steps',)

    holdfast("done", root=project.root, session=project.session)
    assert [each.status for each in only(project.root).phases] == ["completed", "completed", "active"]


def test_another_workflow_in_the_file_is_not_moved(project: HoldfastProject) -> None:
    """Who saw the one before it is told what the file holds by now."""
    opened = Workspace.open(project.root)
    adapter = registry.get("progress")
    (seen,) = adapter.find(opened).workflows
    state = project.root / "docs/progress.json"
    state.write_text(BY_HAND.replace('"budget"', '"run": "other", "budget"'))

    with pytest.raises(TransitionError, match="holds other by now"):
        verbs.done(opened, seen)
