"""A guard whose file is edited, cut short or removed still runs, or refuses and names one command that ends that."""

from __future__ import annotations

import re
import shlex
import shutil
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.testing import HoldfastProject
from tests.commandline import holdfast
from tests.processes import Place

if TYPE_CHECKING:
    from collections.abc import Callable


GUARD = '''"""No command passes."""
from holdfast import deny, hookimpl

NOTE = "guarded"


@hookimpl(strict=True, match="Bash")
def on_pre_tool_use(event):
    """Refuse."""
    return deny(NOTE)
'''
CUTS = range(0, len(GUARD), 12)


def replaced(guard: Path) -> Path:
    """Put a folder in the place of a guard; return where the guard is now."""
    guard.rename(guard.with_suffix(".txt"))
    guard.mkdir()
    return guard.with_suffix(".txt")


RUNS: dict[str, Callable[[Path], object]] = {
    "a comment more": lambda guard: guard.write_text(GUARD + "# more\n"),
    "another matcher": lambda guard: guard.write_text(GUARD.replace('"Bash"', '"Bash|Read"')),
    "a timeout": lambda guard: guard.write_text(GUARD.replace("strict=True", "strict=True, timeout=7")),
    "off by its own word": lambda guard: guard.write_text(GUARD + "OFF_BY_DEFAULT = True\n"),
    "waiting by its own word": lambda guard: guard.write_text(GUARD + 'RUNS_WHEN = {"reading": ["hold"]}\n'),
}
REFUSES: dict[str, Callable[[Path], object]] = {
    "0 bytes": lambda guard: guard.write_text(""),
    "blank": lambda guard: guard.write_text(" \n\n"),
    "only a comment": lambda guard: guard.write_text("# to do\n"),
    "not Python": lambda guard: guard.write_text("def on_pre_tool_use(:\n"),
    "another name of the function": lambda guard: guard.write_text(GUARD.replace("def on_pre_tool_use", "def check")),
    "another event": lambda guard: guard.write_text(GUARD.replace("on_pre_tool_use", "on_permission_request")),
    "strict=False": lambda guard: guard.write_text(GUARD.replace("strict=True", "strict=False")),
    "no strict": lambda guard: guard.write_text(GUARD.replace("strict=True, ", "")),
    "no marker": lambda guard: guard.write_text(GUARD.replace("@hookimpl", "# hookimpl")),
    "another name of the file": lambda guard: guard.rename(guard.with_suffix(".txt")),
    "another folder": lambda guard: replaced(guard).rename(guard / guard.name),
    "deleted": lambda guard: guard.unlink(),
    "a folder in its place": lambda guard: replaced(guard),
    **{f"cut at {at}": partial(lambda at, guard: guard.write_text(GUARD[:at]), at) for at in CUTS},
}


def reason(project: HoldfastProject) -> str:
    """Return why a Bash call is refused; empty if it passes."""
    said = str(project.fire("PreToolUse", tool_name="Bash").specific.get("permissionDecisionReason", ""))
    return re.sub(r" \(\w+/\w+\.py\)", "", said)  # without the handler's name


def commands(refusal: str) -> list[str]:
    """Return the commands that a refusal names to end it."""
    named = re.findall(r"\(in a terminal: (.*?)\)[.,; ]|To do without it: (.*?)\. ", refusal)
    return ["".join(each) for each in named]


def run(command: str, project: HoldfastProject) -> None:
    """Run a command of `holdfast`."""
    holdfast(*shlex.split(command)[1:], root=project.root)


def problem(project: HoldfastProject, guard: Path, name: str) -> str:
    """Return what is wrong after an edit of a guard; empty if nothing is."""
    mine = guard.parent == paths.user_handlers()
    shutil.rmtree(guard.parent, ignore_errors=True)
    guard.parent.mkdir(parents=True)
    guard.write_text(GUARD)
    project.trust()
    if (before := reason(project)) != "guarded":
        return f"before it: {before!r}"
    (RUNS | REFUSES)[name](guard)
    said = [reason(project), reason(project)]
    lift = f"holdfast handlers off {guard.stem}"
    if mine and name in RUNS and said != ["guarded"] * 2:
        return f"it doesn't run: {said}"
    if not mine or name in REFUSES:
        if not all("a strict handler could not check it: " in each for each in said):
            return f"calls pass: {said}"
        named = commands(said[1])
        if len(named) != (1 if mine or not guard.is_file() else 2):  # of a project's changed file: `trust`, `untrust`
            return f"it doesn't name one command: {said}"
        lift = named[-1]
    run(lift, project)
    if after := reason(project):
        return f"{lift} doesn't lift it: {after}"
    if mine and guard.is_file():
        run(f"holdfast handlers on {guard.stem}", project)
        if "was not called" in (after := reason(project)):
            return f"switched on again, it doesn't run as it is now: {after}"
        run(lift, project)
    return ""


@pytest.mark.parametrize("mine", [True, False])
def test_every_edit_of_a_guard_runs_it_or_refuses_with_a_command_that_lifts_it(tmp_path: Path, mine: bool) -> None:
    """Of a project's file only what you trusted runs, so there each edit refuses."""
    project = HoldfastProject(tmp_path)
    folder = paths.user_handlers() if mine else paths.project_handlers(tmp_path)
    found = {
        name: said
        for number, name in enumerate([*RUNS, *REFUSES])
        if (said := problem(project, folder / f"guard{number}.py", name))
    }
    assert not found, "\n".join(f"{name}: {said}" for name, said in found.items())


@pytest.mark.slow
def test_no_call_passes_while_an_editor_saves_a_guard(tmp_path: Path) -> None:
    """It empties the file and writes it a moment later; between the two, calls are refused."""
    place = Place(Path.home(), tmp_path)
    guard, over = place.user_handler("guard", GUARD), Event()

    def edit() -> None:
        while not over.wait(0.01):
            guard.write_text("")
            over.wait(0.01)
            guard.write_text(GUARD)

    def said() -> str:
        ended = place.fire(place.payload("PreToolUse-Bash"), "PreToolUse")
        return str(ended.specific.get("permissionDecisionReason", "it passed"))

    assert said().startswith("guarded")
    editor = Thread(target=edit)
    editor.start()
    try:
        found = {said() for _ in range(15)}
    finally:
        over.set()
        editor.join()
    assert "it passed" not in found
    assert said().startswith("guarded")


@pytest.mark.slow
def test_a_session_that_starts_after_the_edit_keeps_the_guard_registered(tmp_path: Path) -> None:
    """Its start names what is refused, and the command; that one command ends it, and then nothing is registered."""
    place = Place(Path.home(), tmp_path)
    guard = place.user_handler("guard", GUARD)
    holdfast("install", root=tmp_path)
    guard.write_text("")
    settings = place.home / ".claude/settings.json"
    said = place.fire(place.payload("SessionStart-startup"), "SessionStart").reply["systemMessage"]
    assert "in a terminal: holdfast handlers off guard)" in said
    assert "Bash" in settings.read_text()
    guard.unlink()
    holdfast("handlers", "on", "save_workflow", root=tmp_path)
    assert "Bash" in settings.read_text()
    holdfast("handlers", "off", "guard", root=tmp_path)
    assert "Bash" not in settings.read_text()
