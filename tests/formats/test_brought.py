"""A format unknown to Holdfast, from another package, goes through every command and handler."""

from __future__ import annotations

import json
import random
import shutil
import stat
import string
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from holdfast import checks, formats, paths
from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests import brought
from tests.commandline import holdfast
from tests.doctoring import examine, obey

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.checks import Finding
    from holdfast.testing import HoldfastProject
    from tests.conftest import RunPython


TITLE = "Release 1.2"
STATE = "checklists/release-1-2.md"


@pytest.fixture
def name(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """A name by chance, of a format that a package brings."""
    made = "f" + "".join(random.choices(string.ascii_lowercase, k=9))
    folder = tmp_path_factory.mktemp("site")
    brought.lay(folder, made)
    assert [each.NAME for each in brought.install(folder, monkeypatch)] == [made]
    return made


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], name: str) -> HoldfastProject:
    """A project with a workflow of that format, started by the model."""
    made = holdfast_project({"docs/plan.md": "A plan.\n"})
    steps = [word for title in ("Write", "Tag", "Announce") for word in ("--phase", title)]
    more = ("--read", "docs/plan.md", "--remind", "Ask first", "--set", "branch=main")
    holdfast("start", TITLE, "--format", name, *steps, *more, root=made.root, session=made.session)
    return made


def compact(project: HoldfastProject) -> str:
    """Let a compaction happen; return what Claude is told after it."""
    for event, recorded in (("PreCompact", "PreCompact-auto"), ("SubagentStop", "SubagentStop-compaction")):
        assert project.fire(event, recorded).faults == []
    return project.fire("SessionStart", "SessionStart-compact").context


def test_the_commands_of_everybody(project: HoldfastProject, name: str) -> None:
    """From the start to the end, and what can be asked in between."""
    state = project.root / STATE

    def run(*words: str) -> str:
        return holdfast(*words, root=project.root, session=project.session).out

    assert '"Write"' in run("next")
    assert 'Completed item 1/3 "Write".' in run("done", "--note", "The text is in NEWS")
    assert "- [x] Write\n  > The text is in NEWS" in state.read_text()
    run("update", "--remind", "No Fridays", "--set", "branch=topic")
    assert "- branch: topic" in state.read_text()
    assert "- branch: main" not in state.read_text()
    assert json.loads(run("status", "--json"))["workflows"][0]["format"] == name
    for command in ("log", "status", "export"):
        assert TITLE in run(command), command
    run("report", str(project.root / "report.html"))
    assert TITLE in (project.root / "report.html").read_text()
    run("claim", TITLE)
    healthy = checks.run(opened := Workspace.open(project.root), ("states", "packages"))
    assert {each.level for each in healthy} == {"ok"}
    opened.close()
    run("done")
    run("done")
    assert "- [ ]" not in state.read_text()
    assert TITLE in run("status", "--all")
    assert "Forgotten" in run("forget", "--workflow", TITLE, "--yes")
    assert state.exists()


def test_a_broken_file_is_put_back_by_the_command_that_is_named(project: HoldfastProject) -> None:
    """Only its format knows what a whole one is; who moves the workflow and who starts a session hear of the doctor."""
    state = project.root / STATE
    whole = state.read_bytes()
    opened = Workspace.open(project.root)
    assert opened.keep(state, b"\xfe", why="broken then, too")
    opened.close()
    state.write_bytes(b"\xff")

    said = holdfast("done", root=project.root, session=project.session, code=1).err
    assert f"{state} cannot be read: is not UTF-8; `holdfast doctor` says what to do" in said
    told = project.fire("SessionStart", "SessionStart-startup").reply["systemMessage"]
    assert f"{STATE} could not be read: is not UTF-8; `holdfast doctor` says what to do." in told
    (found,) = [each for each in examine("states", project.root) if each.level != "ok"]
    assert found.remedy == f"holdfast restore 1 --workflow {state}"
    obey(found, project.root)

    assert state.read_bytes() == whole
    assert examine("states", project.root)[0].level == "ok"


def test_a_package_that_is_gone_costs_no_event(project: HoldfastProject, name: str) -> None:
    """The user is told where its workflows are, other formats go on, and doctor says what to do."""
    holdfast("start", "Other", "--phase", "First", root=project.root, session=project.session)
    _remove(name)

    told = project.fire("SessionStart", "SessionStart-compact")

    assert told.faults == []
    assert "Other" in told.context
    assert f"the format '{name}' (holdfast-{name} 1.0, module holdfast_{name}.format) can't be used" in told.stdout
    assert "holdfast doctor" in told.stdout
    with pytest.raises(HoldfastError, match="can't be used"):
        registry.get(name)
    (gone,) = _doctor(project)
    assert (gone.level, gone.remedy) == ("problem", "holdfast doctor --fix")
    assert gone.fix is not None
    assert gone.fix() == f"Format {name}: removed"
    assert not paths.format_index().exists()
    assert [each.level for each in _doctor(project)] == ["ok"]


@pytest.mark.parametrize("part", ["step", "save"])
def test_a_package_that_fails_costs_only_its_own(
    part: str, project: HoldfastProject, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it cannot do is said with its name; the rest of its workflow comes back, and the other formats go on."""

    def fails(*arguments: object, **options: object) -> object:
        raise KeyError("oh no")

    if part == "step":
        monkeypatch.setattr(sys.modules[RECORDS[name].MODULE].FORMAT, part, fails)
    else:
        detector = ModuleType(f"holdfast_{name}.detector")
        vars(detector).update(save=fails, waiting=fails)
        monkeypatch.setitem(sys.modules, detector.__name__, detector)
        monkeypatch.setattr(RECORDS[name], "SOURCES", ("*/notes.md",))

    told = compact(project)

    assert TITLE in told
    assert "Ask first" in told
    said = told if part == "step" else paths.log_file().read_text()
    assert (
        f"the format '{name}' (holdfast-{name} 1.0, module holdfast_{name}.format) can't be used: KeyError: 'oh no'"
        in said
    )


def test_a_command_names_the_package_that_fails(
    project: HoldfastProject, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no traceback: the bug is not ours."""

    def fails(*arguments: object, **options: object) -> object:
        raise KeyError("oh no")

    monkeypatch.setattr(sys.modules[RECORDS[name].MODULE].FORMAT, "change", fails)

    result = holdfast("next", root=project.root, session=project.session, code=1)

    assert f"the format '{name}' (holdfast-{name} 1.0, module holdfast_{name}.format) can't be used" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("module", ["json", "nowhere.adapter", ".adapter", ""])
def test_an_adapter_that_is_none_costs_only_its_own_format(
    module: str, project: HoldfastProject, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Package and module are named, without a traceback; other formats go on, in commands and events."""
    holdfast("start", "Other", "--phase", "First", root=project.root, session=project.session)
    monkeypatch.setattr(RECORDS[name], "MODULE", module)
    whose = f"the format '{name}' (holdfast-{name} 1.0, module {module or 'without a name'}) can't be used: "

    for command in ("status", "next"):
        result = holdfast(command, root=project.root, session=project.session)
        assert "Other" in result.out
        assert "Traceback" not in result.err
    assert whose in holdfast("status", root=project.root).out
    assert whose in holdfast("start", "Mine", "--format", name, root=project.root, code=1).err
    assert "Other" in compact(project)


def test_what_a_package_prints_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast_project: Callable[..., HoldfastProject]
) -> None:
    """At import, and when it is asked: it goes to stderr, and the JSON can be parsed."""
    package = brought.lay(tmp_path, "loud")
    for file in package.glob("*.py"):
        file.write_text(f"{file.read_text()}\nprint('hello from {file.stem}')\n")
    found = package / "format.py"
    loud = "    def find(self, project):\n        print('found')\n        return self._find(project)\n\n    def _find("
    found.write_text(found.read_text().replace("    def find(", loud))
    (package / "verbs.py").write_text(
        """'''Loud commands.'''\n\nfrom holdfast.workflow.format import Answer\n\nprint('hello')\n\n\n"""
        "def look(project):\n    return Answer('', data={})\n\n\nVERBS = {'look': look}\n"
    )
    record = package / "record.py"
    record.write_text(f"{record.read_text()}COMMANDS = 'Help.'\n")
    brought.install(tmp_path, monkeypatch)
    project = holdfast_project({"checklists/one.md": "# One\n\n- [ ] First\n"})
    for words in (
        ("doctor", "--json"),
        ("status", "--json"),
        ("status", "--why", "--json"),
        ("loud", "look", "--json"),
    ):
        brought.unload("holdfast_loud")
        result = holdfast(*words, root=project.root, code=1 if words[0] == "doctor" else 0)
        json.loads(result.out)
        assert "hello" in result.err


def _remove(name: str) -> None:
    for folder in list(sys.path):
        if (package := Path(folder, f"holdfast_{name}")).is_dir():
            shutil.rmtree(package)
            shutil.rmtree(Path(folder, f"{package.name}-1.0.dist-info"))
    brought.unload(f"holdfast_{name}")


def _doctor(project: HoldfastProject) -> list[Finding]:
    opened = Workspace.open(project.root)
    found = list(checks.run(opened, ("packages",)))
    opened.close()
    return found


def test_a_package_that_install_has_not_seen_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast_project: Callable[..., HoldfastProject]
) -> None:
    """Until then `start` refuses its format; what changed in a package that is known is looked at anew too."""
    file = brought.lay(tmp_path, "unseen") / "record.py"
    monkeypatch.syspath_prepend(tmp_path)
    brought.unload("holdfast_unseen")
    project = holdfast_project({})

    (found,) = _doctor(project)
    assert found.text.endswith("the installed packages bring these formats: unseen")
    assert found.fix is not None
    assert found.fix() == "Format unseen: holdfast-unseen 1.0"
    file.write_text(file.read_text().replace('UNIT = "item"', 'UNIT = "box"'))
    brought.unload("holdfast_unseen")

    assert len([each for each in _doctor(project) if each.level == "notice"]) == 1


BAD = {
    "raise ValueError('no')\n": "ValueError: no",
    "NAME = 'other'\n": "its record has no MODULE",
    "UNIT = 3\n": "UNIT in its record is no str",
    "\nNAME = 'other'\n": "its record calls it 'other'; a name has small letters",
    "PRESENCE = ()\n": "its record names no file",
    "MODULE = 'holdfast_broken.record'\nFORMAT = 3\n": "holdfast_broken.record.FORMAT is no instance of a subclass",
    "MODULE = 'holdfast_broken.markdown'\n": "holdfast_broken.markdown has no FORMAT",
    "COMMANDS = 'Help.'\n": "ModuleNotFoundError: No module named 'holdfast_broken.verbs'",
    "SOURCES = ('*/notes.md',)\n": "ModuleNotFoundError: No module named 'holdfast_broken.detector'",
    "raise ValueError('two\\nlines')\n": "ValueError: two lines",
    "raise type('Odd', (BaseException,), {})\n": "can't be used: Odd:",
}


@pytest.mark.parametrize("line", BAD)
def test_a_broken_package_is_named_and_left_out(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast_project: Callable[..., HoldfastProject]
) -> None:
    """Events never hear of it, whatever no disk and no index could hold; doctor says it in one line."""
    file = brought.lay(tmp_path, "broken") / "record.py"
    file.write_text(line if line.startswith("NAME") else f"{file.read_text()}{line}")
    assert brought.install(tmp_path, monkeypatch) == []

    (found,) = _doctor(holdfast_project({}))

    assert BAD[line] in found.text
    assert "holdfast-broken 1.0" in found.text
    assert len(found.text.splitlines()) == 1
    assert found.remedy == "upgrade or uninstall holdfast-broken"


def test_of_two_packages_with_one_format_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast_project: Callable[..., HoldfastProject]
) -> None:
    """The other one is named."""
    brought.lay(tmp_path, "twice")
    (info,) = tmp_path.glob("*.dist-info")
    again = shutil.copytree(info, tmp_path / "other-2.0.dist-info")
    (again / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    assert [each.NAME for each in brought.install(tmp_path, monkeypatch)] == ["twice"]

    (found,) = (each for each in _doctor(holdfast_project({})) if each.level == "problem")

    assert found.text.endswith(" brings a format of this name too")


def test_install_says_what_it_registered_where_the_index_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings file has changed by then: which, and how to undo it, must not be lost."""
    site, root = tmp_path / "site", tmp_path / "project"
    root.mkdir()
    brought.lay(site, "found")
    monkeypatch.syspath_prepend(site)
    brought.unload("holdfast_found")
    (paths.ensure_private(paths.state_dir()) / "formats.json").mkdir()

    said = holdfast("install", "--scope", "project", root=root, code=1)

    assert "To undo: holdfast uninstall" in said.out
    assert "is a folder, not a file" in said.err


def test_doctor_sets_no_workflow_aside_whose_package_is_gone(project: HoldfastProject, name: str) -> None:
    """They are the team's, and sound; what is missing is the package."""
    _remove(name)
    opened = Workspace.open(project.root)

    (found,) = [each for each in checks.run(opened, ("states",)) if f"(holdfast-{name} 1.0" in each.text]

    opened.close()
    assert found.remedy == "upgrade the package that brings the format, or install it again"


def test_a_format_that_finds_nonsense_costs_no_event(
    project: HoldfastProject, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other formats go on, and the user is told which one fails."""
    holdfast("start", "Other", "--phase", "First", root=project.root, session=project.session)
    monkeypatch.setattr(sys.modules[RECORDS[name].MODULE].FORMAT, "find", lambda project: None)
    opened = Workspace.open(project.root)

    found = registry.all_found(opened)

    opened.close()
    assert [each.title for each in found.workflows] == ["Other"]
    assert ["TypeError: it finds None" in each.reason for each in found.problems] == [True]


@pytest.mark.parametrize("name_", [*formats.OURS, "doctor"])
def test_a_name_of_ours_stays_ours(
    name_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast_project: Callable[..., HoldfastProject]
) -> None:
    """A package can't put itself in the place of a format or a command."""
    brought.lay(tmp_path, name_)
    assert brought.install(tmp_path, monkeypatch) == []
    (found,) = _doctor(holdfast_project({}))
    assert "Holdfast has a format or command of this name" in found.text


@pytest.mark.parametrize("content", [b"", b"{broken", b'{"formats": [{"name": "x", "package": "y"}]}'])
def test_the_doctor_writes_a_damaged_index_again(content: bytes, project: HoldfastProject, name: str) -> None:
    """Without the formats in it workflows would be missing from each answer, and nobody would know why."""
    good = paths.format_index().read_bytes()
    paths.format_index().write_bytes(content)

    (found,) = [each for each in _doctor(project) if each.level == "notice"]

    assert found.text.endswith(f"the installed packages bring these formats: {name}")
    obey(found, project.root)
    assert paths.format_index().read_bytes() == good


def test_an_index_gives_no_other_package_a_format_of_ours(name: str, run_python: RunPython) -> None:
    """Whoever changes the file by hand: what Holdfast keeps of its own formats stays as it is."""
    index = paths.format_index()
    index.write_bytes(index.read_bytes().replace(f'"NAME": "{name}"'.encode(), f'"NAME": "{formats.OURS[0]}"'.encode()))

    said = run_python("from holdfast import formats; print(formats.RECORDS[formats.OURS[0]].MODULE, *formats.NAMES)")

    assert said.split() == [formats.RECORDS[formats.OURS[0]].MODULE, *formats.OURS]


def test_a_part_that_cannot_be_loaded_costs_only_its_own_format(name: str) -> None:
    """The package has no module of that name; ours would be a fault of Holdfast's, which is raised."""
    assert list(formats.parts("record", [name, *formats.OURS])) == [name, *formats.OURS]
    assert formats.parts("nowhere", [name]) == {}
    with pytest.raises(ModuleNotFoundError):
        formats.parts("nowhere", [name, formats.OURS[0]])


def test_what_the_archive_has_of_a_format_that_is_gone_can_be_shown() -> None:
    """Its record is forgotten, its units are steps."""
    assert formats.RECORDS["gone"].UNIT == "step"
    assert "gone" not in formats.RECORDS


@pytest.mark.parametrize("command", ["install --scope project", "handlers trust"])
def test_install_and_trust_look_for_packages(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They say once what they found."""
    site, root = tmp_path / "site", tmp_path / "project"
    root.mkdir()
    brought.lay(site, "found")
    monkeypatch.syspath_prepend(site)
    brought.unload("holdfast_found")

    assert "Format found: holdfast-found 1.0\n" in holdfast(*command.split(), root=root).out

    assert list(formats.brought()) == ["found"]
    assert "Format found" not in holdfast(*command.split(), root=root).out
    assert stat.S_IMODE(paths.format_index().stat().st_mode) == 0o600
