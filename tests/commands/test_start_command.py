"""`holdfast start` creates a workflow in each format and gives it to the session."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import formats, paths
from holdfast.errors import StateError
from holdfast.files import atomic
from holdfast.sessions.ownership import owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from holdfast.workflow.model import Start
from tests.commandline import holdfast
from tests.formats.known import KNOWN
from tests.handmade import ME
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.workflow.model import Workflow

UNKNOWN = "neither built in nor in .claude/agents/ or ~/.claude/agents/; create it, or name another"


def only(root: Path) -> Workflow:
    (workflow,) = registry.all_found(Workspace.open(root)).workflows
    return workflow


def state(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(only(root).path.read_bytes())
    return content


def test_the_compaction_format_is_the_default(tmp_path: Path) -> None:
    """R001-01 to -09: all that was given stands in the state file."""
    holdfast(
        *("start", "Page Orchestration", "--type", "implementation", "--phase", "Draft", "--phase", "Review"),
        *("--read", "docs/a.md", "--read", "@docs/b.md", "--remind", "Be kind", "--set", "plan_number=7"),
        *("--set", "name=plain text", "--set", "flags=[1, true]"),
        root=tmp_path,
    )

    content = state(tmp_path)
    assert (content["workflow"], content["workflow_type"]) == ("Page Orchestration", "implementation")
    assert content["phase"] == {"current": 1, "total": 2, "name": "Draft", "status": "in_progress"}
    assert content["required_reading"] == ["@docs/a.md", "@docs/b.md"]
    assert content["key_reminders"] == ["Be kind"]
    given = {key: content["context"][key] for key in ("plan_number", "name", "flags")}
    assert given == {"plan_number": 7, "name": "plain text", "flags": [1, True]}


def test_the_hybrid_format_names_an_agent_for_each_phase(tmp_path: Path) -> None:
    """R000-06: title and agent; without an agent it is the client's general-purpose one."""
    phases = (
        "--phase",
        "Write tests @test-writer",
        "--phase",
        "Mail me@example.org",
        "--phase",
        "Review @plugin:critic",
    )
    holdfast("start", "Tool", "--format", "hybrid", *phases, root=tmp_path)

    assert [(phase["title"], phase["agent"]) for phase in state(tmp_path)["phases"]] == [
        ("Write tests", "test-writer"),
        ("Mail me@example.org", "general-purpose"),
        ("Review", "plugin:critic"),
    ]
    assert state(tmp_path)["status"] == "pending"


def test_a_phase_of_any_format_may_name_its_agent(tmp_path: Path) -> None:
    """Kept with its title; where none is named there is none, and a title is a text as it always was."""
    said = holdfast(
        *("start", "Book", "--format", "compaction", "--phase", "Draft @writer", "--phase", "Review"), root=tmp_path
    ).out

    assert "Its format is compaction: `holdfast done` completes a phase and begins the next." in said
    assert 'No agent moves this workflow: run `holdfast done "Draft"` when that is done.' in said
    assert "Agent call" not in said, "whose end it would not notice"
    assert state(tmp_path)["context"]["phases"] == [{"title": "Draft", "agent": "writer"}, "Review"]
    assert state(tmp_path)["phase"]["name"] == "Draft"
    assert [(phase.title, phase.agent) for phase in only(tmp_path).phases] == [("Draft", "writer"), ("Review", "")]


def test_a_phase_with_an_agent_makes_a_workflow_that_agents_move(tmp_path: Path) -> None:
    """Whatever format is usual: nothing would ever move otherwise."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text('format = "compaction"\n')
    said = holdfast("start", "Tool", "--phase", "Write it @builder", "--phase", "Test it", root=tmp_path).out

    assert only(tmp_path).format == "hybrid"
    assert "Its format is hybrid: phases move as agents finish." in said
    assert 'Agent call: subagent_type "builder", description "Write it", prompt:' in said


def test_without_an_agent_the_usual_format_is_taken(tmp_path: Path) -> None:
    """Nobody is to be followed."""
    said = holdfast("start", "Tool", "--phase", "Write it", root=tmp_path).out
    assert only(tmp_path).format == "compaction"
    assert "no agent" not in said


def test_a_faulty_configuration_is_told(tmp_path: Path) -> None:
    """Its format doesn't count, so the workflow may not be of the format that you meant."""
    file = paths.user_config()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("format = \n")

    said = holdfast("start", "Tool", root=tmp_path)

    assert only(tmp_path).format == "compaction"
    assert re.fullmatch(r"warning: ~/\S+: is not TOML: .*; to check it: holdfast config check\n", said.err)


@each_row("kind", formats.NAMES)
def test_an_at_sign_without_a_space_names_no_agent_and_is_said(tmp_path: Path, kind: str) -> None:
    """It may be meant as one; a mail address and a version are not, and programs get JSON alone on stdout."""
    for name in ("code-developer", "test-fix-agent", "action-planning-agent"):  # which the wfs format chooses
        file = tmp_path / ".claude" / "agents" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\nname: {name}\n---\n")
    titles = ("Build@developer", "Test @tester", "Mail bob@example.org", "Go to react@18", "Ask@plug:in @critic", "@x")
    phases = [argument for title in titles for argument in ("--phase", title)]
    said = holdfast("start", "Tool", "--format", kind, "--json", *phases, root=tmp_path)

    assert said.json["total"] == 6
    assert said.err == (
        f'warning: there is no agent "tester", {UNKNOWN}\n'
        f'warning: there is no agent "critic", {UNKNOWN}\n'
        'Note: the phase is called "Build@developer". To name an agent, put a space before its @: "Build @developer".\n'
    )
    assert [phase.title for phase in only(tmp_path).phases] == [
        *("Build@developer", "Test", "Mail bob@example.org", "Go to react@18", "Ask@plug:in", "@x")
    ]


@pytest.mark.parametrize("name", ["", " "])
def test_a_template_without_a_name_is_an_error(tmp_path: Path, name: str) -> None:
    """And not a workflow without one."""
    assert "a template needs a name" in holdfast("start", "T", "--template", name, root=tmp_path, code=1).err

    assert registry.all_found(Workspace.open(tmp_path)).workflows == ()


def test_the_configuration_names_the_format(tmp_path: Path) -> None:
    """`format` in holdfast.toml; the option goes before it."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text('format = "hybrid"\n')

    holdfast("start", "Tool", "--phase", "One", root=tmp_path)
    holdfast("start", "Book", "--phase", "One", "--format", "compaction", root=tmp_path)

    assert {workflow.title: workflow.format for workflow in registry.all_found(Workspace.open(tmp_path)).workflows} == {
        "Tool": "hybrid",
        "Book": "compaction",
    }


def test_a_workflow_belongs_to_the_session_that_started_it(tmp_path: Path) -> None:
    """Survival, step 1: started by the CLI in a session; from a person's terminal it is nobody's."""
    holdfast("start", "Mine", "--phase", "One", root=tmp_path, session=ME)
    assert owners.owner(Workspace.open(tmp_path), only(tmp_path)) == ME

    holdfast("start", "Tool", "--format", "hybrid", "--phase", "One", root=tmp_path)
    found = {each.title: each for each in registry.all_found(Workspace.open(tmp_path)).workflows}
    assert owners.owner(Workspace.open(tmp_path), found["Tool"]) is None


def test_where_it_lies_and_what_comes_next_is_said(tmp_path: Path) -> None:
    """The model reads on from there."""
    said = holdfast("start", "Tool", "--format", "hybrid", "--phase", "Write it @builder", root=tmp_path).out

    assert "Started in .claude/state/workflow.json." in said
    assert 'Next: start phase 1/1 "Write it" (agent builder).' in said
    assert "prompt:\nWrite it" in said


def test_programs_get_the_row_and_the_next_step(tmp_path: Path) -> None:
    """`--json`."""
    said = holdfast("start", "Tool", "--format", "hybrid", "--phase", "Write it @builder", "--json", root=tmp_path).json

    assert (said["format"], said["title"], said["total"]) == ("hybrid", "Tool", 1)
    assert said["next"] | {"text": ""} == {
        "number": 1,
        "title": "Write it",
        "agent": "builder",
        "prompt": "Write it",
        "text": "",
    }


def test_more_phases_than_are_named(tmp_path: Path) -> None:
    """`--total`, where the later ones are not known yet."""
    holdfast("start", "Book", "--phase", "One", "--total", "6", root=tmp_path)

    assert state(tmp_path)["phase"]["total"] == 6


@each_row("kind", KNOWN)
def test_an_unfinished_workflow_is_not_started_over(tmp_path: Path, kind: str) -> None:
    """The error names it and the way out; nothing is written."""
    arguments = ("start", "Tool", "--format", kind, "--phase", "One")
    holdfast(*arguments, root=tmp_path)
    before = only(tmp_path).raw

    said = holdfast(*arguments, root=tmp_path, code=1)

    assert '"Tool"' in said.err
    assert "holdfast done --all" in said.err
    assert only(tmp_path).raw == before


@each_row("arguments", [("start", ""), ("start", " "), ("start", "T", "--format", "hybrid")])
def test_what_makes_no_workflow_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A workflow needs a name, a hybrid one phases; no file is left behind."""
    assert " needs a" in holdfast(*arguments, root=tmp_path, code=1).err

    assert registry.all_found(Workspace.open(tmp_path)).workflows == ()


@each_row(
    "arguments", [("--set", "novalue"), ("--set", "=x"), ("--total", "0"), ("--format", "odd"), ("--total", "many")]
)
def test_a_wrong_option_is_a_usage_error(tmp_path: Path, arguments: tuple[str, str]) -> None:
    """Exit 2, and no workflow."""
    holdfast("start", "T", "--phase", "One", *arguments, root=tmp_path, code=2)

    assert registry.all_found(Workspace.open(tmp_path)).workflows == ()


@each_row("value", ["NaN", "-Infinity", "1e999", "[" * 20_000, "{", "9" * 9_000])
def test_a_context_value_no_file_could_hold_is_text(tmp_path: Path, value: str) -> None:
    """Python reads more as JSON than JSON has; such a value would break the state file."""
    holdfast("start", "Book", "--phase", "One", "--set", f"x={value}", root=tmp_path)

    assert state(tmp_path)["context"]["x"] == value


def test_a_value_may_hold_an_equals_sign(tmp_path: Path) -> None:
    """The first one divides."""
    holdfast("start", "Book", "--phase", "One", "--set", "x = a=b", root=tmp_path)

    assert state(tmp_path)["context"]["x"] == " a=b"


@each_row(
    "kind, seen, said",
    [
        ("compaction", [], []),
        ("hybrid", ["?? .claude/workflow_state_system.md"], [".claude/workflow_state_system.md"]),
        ("wfs", ["?? .workflow/"], [".workflow"]),
    ],
)
def test_git_sees_nothing_of_this_machines_state(tmp_path: Path, kind: str, seen: list[str], said: list[str]) -> None:
    """What a team may want to share is said once; a folder that was there before stays as it was."""

    def git(*words: str) -> list[str]:
        asked = ["git", "-C", str(tmp_path), "-c", "core.excludesFile=", *words]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()

    git("init", "-q")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{}")
    git("add", ".")
    words = ("start", "Ship it", "--format", kind, "--phase", "A")
    first, second = (holdfast(*words, "--replace", root=tmp_path).out for _ in range(2))

    assert [line for line in git("status", "--porcelain") if not line.startswith("A ")] == seen
    named = [f"Git sees {path}: commit it to share it, or add it to .gitignore." for path in said]
    assert [line for line in first.splitlines() if "git" in line.casefold()] == named
    assert "git" not in second.casefold()


def test_git_sees_a_session_of_wfs(tmp_path: Path) -> None:
    """The format's own command says so, too, and once."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    first, second = (holdfast("wfs", "start", "Ship it", root=tmp_path).out for _ in range(2))
    assert first.count("Git sees .workflow:") == 1
    assert "Git sees" not in second


def test_a_folder_with_somebodys_files_gets_no_gitignore(tmp_path: Path) -> None:
    """What git sees of them is their owner's choice."""
    (tmp_path / "untracked/workflow-state").mkdir(parents=True)
    (tmp_path / "untracked/workflow-state/notes.md").write_text("mine\n")
    holdfast("start", "Ship it", "--phase", "A", root=tmp_path)

    assert not list(tmp_path.rglob(".gitignore"))


def test_hostile_names_stay_inside_the_project(tmp_path: Path) -> None:
    """Workflow names in paths unchecked is one of the traps others fell into."""
    root = tmp_path / "project"
    root.mkdir()
    for number, name in enumerate(("../../escape", "/etc/passwd", "a" * 10_000, "\u202eevil\x00", "😀", "..", "CON")):
        holdfast("start", f"{name}{number}", "--phase", "One", root=root)

    assert [path.name for path in tmp_path.iterdir() if path.name not in ("home", "project")] == []
    assert len(registry.all_found(Workspace.open(root)).workflows) == 7


FIRST: dict[str, list[tuple[str, ...]]] = {
    "nothing": [],
    "another": [("start", "Older", "--format", "wfs", "--phase", "One")],
    "finished": [("start", "Older", "--format", "hybrid", "--phase", "One", "--read", "old.md"), ("done",)],
    "same": [("start", "Ship it", "--format", "compaction", "--phase", "One")],
}


@each_row(
    "keeper, first",
    [
        ("wfs", "nothing"),
        ("wfs", "another"),
        ("hybrid", "nothing"),
        ("hybrid", "finished"),
        ("compaction", "nothing"),
        ("compaction", "same"),
    ],
)
def test_nothing_half_made_stays_where_a_start_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeper: str, first: str
) -> None:
    """Whichever write it is that a full disk refuses, what failed is named, and what was there before is as it was."""
    for command in FIRST[first]:
        holdfast(*command, root=tmp_path)
    phases = (("Build", "builder"), ("Test", "tester"))
    start = Start(title="Ship it", phases=phases, reading=("a.md",), replace=True)
    before, said = _tree(tmp_path), list[str]()
    for after in range(50):
        with monkeypatch.context() as patch, closing(Workspace.open(tmp_path)) as project:
            _fill_disk(patch, after)
            try:
                registry.get(keeper).start(project, start)
            except StateError as error:
                said.append(str(error))
                assert _tree(tmp_path) == before
                continue
        break

    assert said
    assert all(str(tmp_path) in each and each.endswith("No space left on device") for each in said)
    assert registry.all_found(Workspace.open(tmp_path)).workflows[0].title == "Ship it"


def _fill_disk(patch: pytest.MonkeyPatch, after: int) -> None:
    """Have the disk be full after so many writes, also for a new empty file."""
    left = [after]
    fill, touch = atomic._fill, Path.touch

    def take() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def filled(descriptor: int, data: bytes) -> None:
        take()
        fill(descriptor, data)

    def touched(path: Path) -> None:
        if not path.exists():
            take()
        touch(path)

    patch.setattr(atomic, "_fill", filled)
    patch.setattr(Path, "touch", touched)


def _tree(root: Path) -> dict[str, bytes]:
    """Return what lies in the formats' folders, empty ones too, but for what keeps a folder out of git."""
    tops = (".workflow", ".claude/state", "untracked/workflow-state")
    found = [path for top in tops for path in (root / top).glob("**/*") if path.name != ".gitignore"]
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"" for path in found}


def test_what_is_not_there_to_read_is_said(tmp_path: Path) -> None:
    """The workflow starts all the same."""
    (tmp_path / "there.md").write_text("x")
    said = holdfast("start", "Book", "--read", "missing.md", "--read", "there.md", root=tmp_path)

    assert said.err == 'warning: "missing.md" doesn\'t exist; create it, or the model is told that it is missing\n'
    assert only(tmp_path).reading == ("@missing.md", "@there.md")


def test_a_type_is_never_changed_without_a_word(tmp_path: Path) -> None:
    """A format that knows its types says so, or refuses another one; one that knows none takes any."""
    said = holdfast("start", "Book", "--type", "release", "--format", "compaction", root=tmp_path).out
    assert 'warning: "release" is stored as custom; the compaction format knows the types planning, qa-loop' in said
    said = holdfast("start", "Loop", "--type", "QA-Loop", "--format", "compaction", root=tmp_path).out
    assert "is stored as" not in said
    kinds = {each.title: each.kind for each in registry.all_found(Workspace.open(tmp_path)).workflows}
    assert kinds == {"Book": "custom", "Loop": "qa-loop"}

    refused = holdfast("start", "Tree", "--type", "release", "--format", "wfs", root=tmp_path, code=1).err
    assert 'no type "release"; it knows simple, medium, complex' in refused
    said = holdfast("start", "Tool", "--type", "release", "--format", "HYBRID", "--phase", "One", root=tmp_path).out
    assert "warning" not in said


def test_an_agent_that_the_client_would_not_find_is_named(tmp_path: Path) -> None:
    """With the places where it looks and what is spelt alike; case is put right, and a plugin's is not looked for."""
    folder = tmp_path / ".claude" / "agents" / "team"
    folder.mkdir(parents=True)
    (folder / "x.md").write_text("---\ndescription: Reads\nname: code-reviewer\n---\nname: other\n")
    (folder / "plain.md").write_text("No front matter.\n")
    agents = ("@Code-Reviewer", "@code-reviewr", "@nobody", "@plugin:it", "@explore", "@plain")
    phases = [argument for each in agents for argument in ("--phase", f"Do {each}")]

    said = holdfast("start", "Tool", "--format", "hybrid", *phases, root=tmp_path)

    places = "neither built in nor in .claude/agents/ or ~/.claude/agents/"
    assert said.err.splitlines() == [
        f'warning: there is no agent "code-reviewr", {places}; did you mean @code-reviewer?',
        f'warning: there is no agent "nobody", {UNKNOWN}',
    ]
    assert [each.agent for each in only(tmp_path).phases] == [
        *("code-reviewer", "code-reviewr", "nobody", "plugin:it", "Explore", "plain")
    ]


def test_an_agent_that_the_format_chooses_is_looked_for_too(tmp_path: Path) -> None:
    """The model would launch it, and the client would refuse that."""
    said = holdfast("start", "Tool", "--format", "wfs", "--phase", "Write it", root=tmp_path).err
    assert said == f'warning: there is no agent "code-developer", {UNKNOWN}\n'
    assert holdfast("wfs", "task", "add", "Write more", root=tmp_path).err == said
    assert holdfast("wfs", "task", "add", "Review it", root=tmp_path).err == "", "general-purpose is built in"


def test_where_ids_count_from_zero_it_is_said_once(tmp_path: Path) -> None:
    """All that people read counts from 1."""
    said = holdfast("start", "Tool", "--format", "hybrid", "--phase", "One", root=tmp_path).out
    assert "Phases count from 1. Only in its files is the first one phase_0.\n" in said
    assert "phase 1/1" in said
    assert "count from 1" not in holdfast("next", root=tmp_path).out
    assert "count from 1" not in holdfast("start", "Book", "--format", "compaction", root=tmp_path).out
